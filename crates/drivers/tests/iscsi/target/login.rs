//! Logins at the scripted target.

use wire::iscsi::{ChapAlgorithm, LoginRequest, LoginResponse, TextKeys, chap_response, push_key};

use super::{BURST, FIRST_BURST, NAME, OWN, Peer, R2TS, SEGMENT};

impl Peer {
    pub(super) fn login(&mut self, request: &LoginRequest, text: &[u8]) -> bool {
        let script = self.target.script.clone();
        let mut out = Vec::new();
        let mut response = LoginResponse {
            transit: request.transit,
            stage: request.stage,
            next_stage: request.next_stage,
            tag: request.tag,
            isid: request.isid,
            tsih: 1,
            status: script.login_status,
            ..LoginResponse::default()
        };
        let get = |key| TextKeys::get(text, key);
        if let Some(name) = get("InitiatorName") {
            self.target.seen.lock().unwrap().initiators.push(name.to_owned());
        }
        if get("TargetName").is_some_and(|name| name != NAME) {
            response.status = 0x0203;
        }
        let (mut digests, mut answers) = ((false, false), Vec::new());
        if let Some(method) = get("AuthMethod") {
            match (&script.secret, method) {
                (Some(_), "None") => response.status = 0x0201,
                (Some(_), _) => {
                    answers.push(("AuthMethod", "CHAP".to_owned()));
                    response.transit = false;
                }
                (None, _) => answers.push(("AuthMethod", "None".to_owned())),
            }
        } else if get("CHAP_A").is_some() {
            answers.extend([("CHAP_A", "5".to_owned()), ("CHAP_I", "7".to_owned())]);
            answers.push(("CHAP_C", "0x00112233".to_owned()));
        } else if let (Some(name), Some(proof), Some(known)) = (get("CHAP_N"), get("CHAP_R"), &script.secret)
        {
            let expected = hex(&chap_response(ChapAlgorithm::Md5, 7, &known.secret, &[0, 0x11, 0x22, 0x33]));
            if name != known.name || proof != expected {
                response.status = 0x0201;
            }
            if let (Some(id), Some(challenge)) = (get("CHAP_I"), get("CHAP_C")) {
                let own = chap_response(ChapAlgorithm::Md5, id.parse().unwrap(), OWN.1, &unhex(challenge));
                answers.extend([("CHAP_N", OWN.0.to_owned()), ("CHAP_R", hex(&own))]);
            }
        } else if get("MaxRecvDataSegmentLength").is_some() {
            let yes = |value: bool| (if value { "Yes" } else { "No" }).to_owned();
            let asked = |key| get(key).is_some_and(|value: &str| value.starts_with("CRC32C"));
            digests = (asked("HeaderDigest"), asked("DataDigest"));
            let digest = |on: bool| (if on { "CRC32C" } else { "None" }).to_owned();
            answers.extend([("HeaderDigest", digest(digests.0)), ("DataDigest", digest(digests.1))]);
            answers.push(("MaxRecvDataSegmentLength", SEGMENT.to_string()));
            answers.push(("MaxBurstLength", BURST.to_string()));
            answers.push(("FirstBurstLength", FIRST_BURST.to_string()));
            answers.push(("MaxOutstandingR2T", R2TS.to_string()));
            answers.push(("InitialR2T", yes(script.initial_r2t)));
            answers.push(("ImmediateData", yes(script.immediate_data)));
        }
        answers.iter().for_each(|(key, value)| push_key(&mut out, key, value));
        self.exp_cmd_sn = request.cmd_sn;
        self.max_cmd_sn = request.cmd_sn.wrapping_sub(1);
        (response.exp_cmd_sn, response.max_cmd_sn) = self.window();
        response.stat_sn = self.next_stat_sn();
        self.send(response.encode(), &out);
        if response.transit && response.next_stage == 3 {
            (self.header_digest, self.data_digest) = digests;
        }
        response.status == 0
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

fn unhex(text: &str) -> Vec<u8> {
    let digit = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    text.as_bytes()[2..].chunks(2).map(digit).collect()
}
