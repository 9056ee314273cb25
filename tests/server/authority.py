"""Makes certificates."""

import subprocess


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True,
                   capture_output=True)


class Authority:
    """Signs certificates, each in a file of its folder."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder = folder
        self.cert, self.key = folder / "ca.pem", folder / "ca.key"
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-days", 1,
                "-subj", "/CN=tests", "-addext",
                # Without it, Python 3.13 does not trust the authority.
                "keyUsage=critical,keyCertSign", "-keyout", self.key, "-out",
                self.cert)

    def sign(self, name, subject):
        """The certificate and the key for `subject`, as in DNS:localhost."""
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request_file = self.folder / f"{name}.csr"
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={subject}\n", "ascii")
        openssl("req", "-newkey", "ec", "-pkeyopt",
                "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                f"/CN={name}", "-keyout", key, "-out", request_file)
        openssl("x509", "-req", "-in", request_file, "-CA", self.cert,
                "-CAkey", self.key, "-CAcreateserial", "-days", 1, "-extfile",
                extensions, "-out", cert)
        return cert, key
