//! Commands that write: immediate and unsolicited data, and data that the scripted target asks for.

use wire::iscsi::{DataOut, NO_TAG, ScsiCommand, ScsiRequest, ScsiStatus};

use super::{BLOCK, BURST, FIRST_BURST, Peer, R2TS};

/// A command whose data arrive.
pub(super) struct Task {
    command: ScsiCommand,
    request: ScsiRequest,
    data: Vec<u8>,
    received: usize,
    asked: usize,
    /// R2Ts without their data.
    open: u32,
    r2t_sn: u32,
    data_sn: u32,
}

impl Peer {
    /// Begins to take a command's data.
    pub(super) fn take(&mut self, command: ScsiCommand, request: ScsiRequest, data: &[u8]) {
        let script = &self.target.script;
        let unsolicited = !command.is_final;
        if (!script.immediate_data && !data.is_empty()) || (script.initial_r2t && unsolicited) {
            self.violation(format!("{} bytes came unasked", data.len()));
        }
        let mut task = Task {
            data: vec![0; command.transfer_bytes as usize],
            received: data.len(),
            asked: 0,
            open: 0,
            r2t_sn: 0,
            data_sn: 0,
            command,
            request,
        };
        task.data[..data.len()].copy_from_slice(data);
        if unsolicited {
            self.tasks.insert(command.tag, task);
        } else {
            task.asked = task.received;
            self.go_on(task);
        }
    }

    /// Asks for more, or ends the command.
    fn go_on(&mut self, mut task: Task) {
        if task.received == task.data.len() {
            self.store(&task);
            // As tgt does, which counts the parameters of UNMAP as not taken.
            let unmaps = matches!(task.request, ScsiRequest::Unmap { .. });
            let residual = if unmaps { task.command.transfer_bytes } else { 0 };
            self.end(&task.command, ScsiStatus::GOOD, None, residual);
            return;
        }
        while task.open < R2TS && task.asked < task.data.len() {
            let bytes = (task.data.len() - task.asked).min(BURST);
            self.r2t(&task.command, task.r2t_sn, task.asked as u32, bytes as u32);
            task.asked += bytes;
            task.open += 1;
            task.r2t_sn += 1;
        }
        self.tasks.insert(task.command.tag, task);
    }

    pub(super) fn data_out(&mut self, out: &DataOut, data: &[u8]) {
        // What is left of a command that went wrong.
        let Some(mut task) = self.tasks.remove(&out.tag) else { return };
        if out.offset as usize != task.received || out.data_sn != task.data_sn {
            self.violation(format!("data {} at {} instead of {}", out.data_sn, out.offset, task.received));
        }
        let unsolicited = out.target_tag == NO_TAG;
        task.data[task.received..task.received + data.len()].copy_from_slice(data);
        task.received += data.len();
        task.data_sn += 1;
        if unsolicited && task.received > FIRST_BURST {
            self.violation(format!("{} bytes unasked", task.received));
        }
        if !out.is_final {
            self.tasks.insert(out.tag, task);
            return;
        }
        task.data_sn = 0;
        match unsolicited {
            true => task.asked = task.received,
            false => task.open -= 1,
        }
        self.go_on(task);
    }

    fn store(&self, task: &Task) {
        let mut unit = self.target.data.lock().unwrap();
        match task.request {
            ScsiRequest::Write { block, .. } => {
                let from = block as usize * BLOCK;
                unit[from..from + task.data.len()].copy_from_slice(&task.data);
            }
            ScsiRequest::WriteSame { block, blocks, .. } => {
                let from = block as usize * BLOCK;
                let range = &mut unit[from..from + blocks as usize * BLOCK];
                range.chunks_exact_mut(BLOCK).for_each(|block| block.copy_from_slice(&task.data));
            }
            _ => ScsiRequest::unmap_ranges(&task.data).for_each(|(block, blocks)| {
                let from = block as usize * BLOCK;
                unit[from..from + blocks as usize * BLOCK].fill(0);
            }),
        }
    }
}
