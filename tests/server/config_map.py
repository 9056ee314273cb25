"""A ConfigMap, mounted."""

import shutil


class ConfigMap:
    """A folder as Kubernetes mounts one: each file is a symbolic link into
    ..data, a link that is replaced."""

    def __init__(self, folder):
        self.folder = folder
        self.versions = 0
        folder.mkdir(parents=True)

    def publish(self, files):
        self.versions += 1
        old = (self.folder / "..data").resolve()
        version = self.folder / f"..2026_{self.versions}"
        version.mkdir()
        for name, content in files.items():
            (version / name).write_bytes(
                content if isinstance(content, bytes) else content.encode())
            link = self.folder / name
            if not link.is_symlink():
                link.symlink_to(f"..data/{name}")
        fresh = self.folder / "..data_tmp"
        fresh.symlink_to(version.name)
        fresh.rename(self.folder / "..data")
        for link in self.folder.iterdir():
            if not link.name.startswith("..") and link.name not in files:
                link.unlink()
        if self.versions > 1:
            shutil.rmtree(old)
