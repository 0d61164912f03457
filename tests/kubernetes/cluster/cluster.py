"""The programs of a cluster: started in order, waited for, ended."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from lab.process import Child, wait_until

from . import private

API = f"https://{private.ADDRESSES[0]}:6443"
ETCD = "http://127.0.0.1:2379"
NODES = ["lab1", "lab2"]

CONTAINERD = """version = 2
root = "{home}/root"
state = "{home}/state"
[grpc]
  address = "{home}/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:test"
  # Machines that are containers themselves may not lower what the kernel kills last.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{home}/cni"
"""

KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "address": "0.0.0.0",
    "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
    "authorization": {"mode": "AlwaysAllow"},
    "cgroupDriver": "cgroupfs",
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": [],
    "failSwapOn": False,
    "failCgroupV1": False,
    "oomScoreAdj": 0,
    "imageGCHighThresholdPercent": 100,
    "evictionHard": {"memory.available": "1Mi", "nodefs.available": "1Mi", "imagefs.available": "1Mi"},
    "localStorageCapacityIsolation": False,
}


class Cluster:
    """A control plane and two nodes."""

    def __init__(self, programs: Path, work: Path) -> None:
        self.programs = programs
        self.work = work
        self.children: list[Child] = []
        self.admin = self.kubeconfig("admin", "admintoken")

    def kubeconfig(self, name: str, token: str, namespace: str = "default") -> Path:
        """A configuration for kubectl."""
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": {"server": API, "insecure-skip-tls-verify": True}}],
            "users": [{"name": name, "user": {"token": token}}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": name, "namespace": namespace}}],
        }
        path = self.work / f"{name}.kubeconfig"
        path.write_text(json.dumps(document))
        return path

    def start(self, *command: str, node: int = 0, name: str | None = None) -> Child:
        """Starts a program, with its output in a file."""
        log = self.work / f"{name or Path(command[0]).name}.log"
        child = Child(private.inside(node, list(command)), log)
        self.children.append(child)
        return child

    def kubectl(self, *arguments: str, text: str | None = None, check: bool = True) -> str:
        """Runs kubectl as the administrator; what it printed."""
        command = ["kubectl", f"--kubeconfig={self.admin}", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, input=text, timeout=120)
        if check and done.returncode:
            raise RuntimeError(f"{' '.join(command)} failed: {done.stderr.strip()}")
        return done.stdout

    def items(self, kind: str, namespace: str) -> list[dict[str, Any]]:
        """The objects of a kind."""
        return list(json.loads(self.kubectl("get", kind, "-n", namespace, "-o", "json"))["items"])

    def begin(self) -> None:
        """Starts everything and waits until both nodes are ready."""
        self.control_plane()
        for number, name in enumerate(NODES):
            self.node(number, name)
        wait_until("both nodes are ready", lambda: self.ready() == NODES, 120)

    def control_plane(self) -> None:
        pki = self.work / "pki"
        pki.mkdir()
        key, public = str(pki / "sa.key"), str(pki / "sa.pub")
        private.run("openssl", "genrsa", "-out", key, "2048")
        private.run("openssl", "rsa", "-in", key, "-pubout", "-out", public)
        # One who may do anything, and one who may do what our Role says.
        (pki / "tokens.csv").write_text('admintoken,admin,admin,"system:masters"\nusertoken,user,user\n')
        self.start(
            "etcd", f"--data-dir={self.work}/etcd", f"--listen-client-urls={ETCD}", f"--advertise-client-urls={ETCD}",
            "--listen-peer-urls=http://127.0.0.1:2380", "--unsafe-no-fsync",
        )  # fmt: skip
        self.start(
            str(self.programs / "kube-apiserver"), f"--etcd-servers={ETCD}", "--bind-address=0.0.0.0",
            f"--advertise-address={private.ADDRESSES[0]}", "--secure-port=6443", f"--cert-dir={pki}/apiserver",
            f"--service-account-key-file={public}", f"--service-account-signing-key-file={key}",
            "--service-account-issuer=https://kubernetes.default.svc", f"--token-auth-file={pki}/tokens.csv",
            "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/24",
            "--disable-admission-plugins=ServiceAccount", "--endpoint-reconciler-type=none", "--allow-privileged=true",
            "--kubelet-preferred-address-types=InternalIP",
        )  # fmt: skip
        wait_until("the API server answers", self.answers, 180)
        common = [f"--kubeconfig={self.admin}", "--leader-elect=false", "--bind-address=127.0.0.1"]
        self.start(str(self.programs / "kube-scheduler"), *common)
        self.start(
            str(self.programs / "kube-controller-manager"), *common, f"--service-account-private-key-file={key}"
        )

    def answers(self) -> bool:
        command = ["kubectl", f"--kubeconfig={self.admin}", "get", "--raw=/readyz"]
        return subprocess.run(command, capture_output=True, text=True, timeout=60).stdout == "ok"

    def node(self, number: int, name: str) -> None:
        home = self.work / name
        (home / "cni").mkdir(parents=True)
        (home / "containerd.toml").write_text(CONTAINERD.format(home=home))
        bridge = {
            "type": "bridge",
            "bridge": f"pods{number}",
            "isGateway": True,
            "ipMasq": False,
            "ipam": {
                "type": "host-local",
                "subnet": f"10.79.{number}.0/24",
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }
        network = {"cniVersion": "0.4.0", "name": f"lab{number}", "plugins": [bridge]}
        (home / "cni" / "10-lab.conflist").write_text(json.dumps(network))
        socket = home / "containerd.sock"
        self.start("containerd", "-c", str(home / "containerd.toml"), node=number, name=f"containerd-{name}")
        wait_until("containerd listens", socket.exists, 60)
        for image in ["pause", "manometer"]:
            archive = str(self.work / f"{image}.tar")
            private.run("ctr", "-a", str(socket), "-n", "k8s.io", "images", "import", archive)
        settings = home / "kubelet.yaml"
        own = {"containerRuntimeEndpoint": f"unix://{socket}", "podLogsDir": f"{home}/logs"}
        settings.write_text(json.dumps(KUBELET | own))
        self.start(
            str(self.programs / "kubelet"), f"--config={settings}", f"--kubeconfig={self.admin}",
            f"--root-dir={home}/kubelet", f"--hostname-override={name}", f"--node-ip={private.ADDRESSES[number]}",
            f"--cert-dir={home}/pki", node=number, name=f"kubelet-{name}",
        )  # fmt: skip

    def ready(self) -> list[str]:
        """The nodes that are ready."""

        def good(node: dict[str, Any]) -> bool:
            conditions = node["status"].get("conditions", [])
            return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)

        items = json.loads(self.kubectl("get", "nodes", "-o", "json"))["items"]
        return sorted(node["metadata"]["name"] for node in items if good(node))

    def end(self) -> None:
        """Removes all pods, so that no control group stays, and ends the programs, the last started first."""
        self.kubectl("delete", "jobs,pods", "--all", "-A", "--grace-period=1", "--wait=true", "--timeout=60s", check=False)
        for child in reversed(self.children):
            child.stop()
        mounted = [line.split()[1] for line in Path("/proc/mounts").read_text().splitlines()]
        for mount in sorted((m for m in mounted if m.startswith(str(self.work))), reverse=True):
            subprocess.run(["umount", "-l", mount], capture_output=True)

    def tell(self) -> None:
        """Prints the end of each program's log: for when the cluster itself fails."""
        for log in sorted(self.work.glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()[-8:]
            print(f"-- {log.name}", *lines, sep="\n", flush=True)

