"""What is inside a package: a CycloneDX list, and the licences.

https://cyclonedx.org/docs/1.6/json/ describes the format.
"""

import json
import uuid

import libraries
import zig
from platforms import version

_NAMESPACE = uuid.UUID("5d9d4f6e-3a54-5b39-9d10-0d6e5f1f7a10")

# SPDX names, and where a source package has the text.
_AWS_LC = "rust-aws-lc-sys"
_LIBRARIES = {_AWS_LC: (
                  "ISC AND (Apache-2.0 OR ISC) AND Apache-2.0 AND MIT AND "
                  "BSD-3-Clause AND (Apache-2.0 OR ISC OR MIT) AND "
                  "(Apache-2.0 OR ISC OR MIT-0)", "aws-lc/LICENSE"),
              "hiredis": ("BSD-3-Clause", "COPYING"),
              "libyaml": ("MIT", "License")}


def _part(name, number, spdx, purl):
    return {"type": "library", "name": name, "version": number,
            "licenses": [{"expression": spdx}], "purl": purl, "bom-ref": purl}


def components(sources, headers):
    """What is compiled into the binaries.  `headers` has name, version and
    SPDX name of the library of headers, and its kind of package."""
    parts = []
    for name, (spdx, _) in _LIBRARIES.items():
        source = sources[name]
        purl = f"pkg:deb/debian/{name}@{source.version}?arch=source"
        if name == _AWS_LC:
            parts.append(_part("AWS-LC", libraries.aws_lc_version(sources),
                               spdx, purl))
        else:
            parts.append(_part(name, source.upstream, spdx, purl))
    number = zig.version()
    parts.append(_part(zig.LINKED, f"of Zig {number}",
                       "Apache-2.0 WITH LLVM-exception",
                       f"pkg:pypi/ziglang@{number}"))
    name, number, spdx, kind = headers
    parts.append(_part(name, number, spdx, f"pkg:{kind}/{name}@{number}"))
    return parts


def bom(package, purl, parts):
    """The list as JSON.  The same parts give the same bytes."""
    number = version()
    document = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
        "metadata": {"component": {
            "type": "library", "name": package, "version": number,
            "bom-ref": purl, "purl": purl,
            "licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": parts,
        "dependencies": [
            {"ref": purl, "dependsOn": [one["bom-ref"] for one in parts]}],
    }
    words = json.dumps(document, sort_keys=True)
    document["serialNumber"] = f"urn:uuid:{uuid.uuid5(_NAMESPACE, words)}"
    return json.dumps(document, indent=1) + "\n"


def notices(sources, headers):
    """The licences of what is inside, in one text.  `headers` has the name and
    the path of the licence of the library of headers."""
    files = {name: sources[name].folder / file
             for name, (_, file) in _LIBRARIES.items()}
    files["AWS-LC"] = files.pop(_AWS_LC)
    files.update(zig.licenses())
    name, path = headers
    files[name] = path
    parts = ["The binary of this package contains parts of:\n"]
    for name, path in sorted(files.items(), key=lambda one: one[0].lower()):
        text = path.read_text(encoding="utf-8").strip()
        parts.append(f"---- {name}\n\n{text}\n")
    return "\n".join(parts)
