"""Makes the packages for npm: the main one, which has no binaries, that of the
sources, and one for each platform."""

import json

import compilation
import sbom
from platforms import BUILD, ROOT, version
from run import run

DIST = BUILD / "dist"


def main_package():
    """Makes the packages that are the same for all platforms."""
    run("node-dist", ["node", "node/scripts/build.mjs"], cwd=ROOT)
    run("node-pack", ["node", "node/scripts/pack.mjs", DIST / "npm"], cwd=ROOT)


def build(platform, sources):
    module = compilation.module(platform, "limitree_node",
                                "bindings/node/limitree.node")
    name, number, spdx, path = _node_addon_api()
    package = f"@limitree/{platform.name}"
    notices = platform.folder / "THIRD-PARTY.txt"
    notices.write_text(sbom.notices(sources, (name, path)))
    parts = platform.folder / "sbom.cdx.json"
    parts.write_text(sbom.bom(
        package, f"pkg:npm/%40limitree/{platform.name}@{version()}",
        sbom.components(sources, (name, number, spdx, "npm"))))
    run(f"{platform.name}-pack",
        ["node", "node/scripts/platform-package.mjs", platform.name, module,
         DIST / "npm", notices, parts], cwd=ROOT)


def _node_addon_api():
    """Name, version and licence, and the path of its text."""
    folder = ROOT / "node_modules" / "node-addon-api"
    manifest = json.loads((folder / "package.json").read_text())
    return (manifest["name"], manifest["version"], manifest["license"],
            folder / "LICENSE.md")
