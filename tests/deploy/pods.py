"""Starts the command as a pod of a Deployment does.

Its command, arguments, environment, volumes and probes count.  The file system
is that of this machine: folders and ports are replaced by others wherever they
are named.
"""

import http.client
import pathlib
import re
import socket

from config_map import ConfigMap
from servers import free_ports
from service import COMMAND, PATIENT, Service, eventually


class Pod:
    """`volumes` are the files of each volume, and `secrets` those of each
    Secret that a variable names.  `elsewhere` has addresses in the place of
    those of a cluster."""

    def __init__(self, deployment, volumes, folder, *, secrets=None,
                 elsewhere=None):
        self.spec = deployment["spec"]["template"]["spec"]
        self.container, = self.spec["containers"]
        self.replaced = dict(elsewhere or {})
        self.mounts = {}
        for mount in self.container.get("volumeMounts") or []:
            self.mount(mount, volumes, folder)
        # Ports that not every manifest names.
        known = {one["containerPort"]: one.get("name")
                 for one in self.container["ports"]}
        named = [*known, *{6070, 8080} - set(known)]
        self.ports = dict(zip(named, free_ports(len(named))))
        self.names = {name: self.ports[port] for port, name in known.items()}
        env = {one["name"]: self.value_of(one, secrets or {})
               for one in self.container.get("env", [])}
        if "args" not in self.container:  # these would be the default ones
            env = {"DEBUG_PORT": str(self.ports[6070]),
                   "GRPC_PORT": str(self.ports[8081]),
                   "PORT": str(self.ports[8080]), **env}
        self.service = Service(
            None, *map(self.here, self.container.get("args", [])),
            listen=None, waits=True, env=env, command=self.command(folder))

    def command(self, folder):
        """The command of the image, which has a second name."""
        name, *words = self.container["command"]
        link = folder / pathlib.Path(name).name
        folder.mkdir(exist_ok=True)
        link.symlink_to(COMMAND)
        return [link, *words]

    def mount(self, mount, volumes, folder):
        """As Kubernetes does: all files of a volume, or one of its keys under
        another name."""
        name = mount["name"]
        volume, = (one for one in self.spec["volumes"] if one["name"] == name)
        source = volume.get("configMap") or volume.get("secret") or {}
        files = volumes.get(name, {})
        if "items" in source:
            files = {one["path"]: files[one["key"]] for one in source["items"]}
        self.mounts[name] = ConfigMap(folder / name)
        self.mounts[name].publish(files)
        self.replaced[mount["mountPath"]] = str(folder / name)

    def value_of(self, variable, secrets):
        if "value" in variable:
            return self.here(variable["value"])
        source = variable["valueFrom"]
        if "fieldRef" in source:
            return "pod"
        one = source["secretKeyRef"]
        return self.here(secrets[one["name"]][one["key"]])

    def here(self, text):
        """A word of the manifest, for this machine."""
        for place, other in self.replaced.items():
            text = text.replace(place, other)
        return re.sub(
            r"^(|.*:)(\d+)$",
            lambda found: found[1] + str(self.ports.get(int(found[2]),
                                                        found[2])), text)

    def port(self, name):
        """A port by name or number."""
        return self.names[name] if name in self.names else self.ports[name]

    def probe(self, kind):
        """Whether a probe of the manifest succeeds now."""
        probe = self.container[kind]
        assert self.service.process.poll() is None, self.service.lines
        try:
            if "tcpSocket" in probe:
                socket.create_connection(
                    ("127.0.0.1", self.port(probe["tcpSocket"]["port"])),
                    PATIENT).close()
                return True
            asked = probe["httpGet"]
            connection = http.client.HTTPConnection(
                "127.0.0.1", self.port(asked["port"]), timeout=PATIENT)
            connection.request("GET", asked["path"])
            status = connection.getresponse().status
            connection.close()
            return 200 <= status < 400
        except ConnectionError:
            return False

    def wait_until_ready(self):
        for kind in ("startupProbe", "livenessProbe", "readinessProbe"):
            eventually(lambda kind=kind: self.probe(kind))
        self.service.target = f"127.0.0.1:{self.port('grpc')}"

    def page(self, port, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port(port),
                                                timeout=PATIENT)
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def kill(self):
        self.service.kill()
