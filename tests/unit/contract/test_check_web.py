"""Tests that tools/check-web finds what goes against the rules of web/src, and nothing else."""
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
RIGHT = {
    "app/main.tsx": 'import { A } from "@features/a/A";\nimport { B } from "./B";\n',
    "features/a/A.tsx": 'import { T } from "@shared/ui/T";\nimport { b } from "./b";\nconst x = <i style={{ width: "1px" }} />;\n',
    "shared/ui/T.tsx": 'import { x } from "../lib/x";\nimport "preact";\n',
    "shared/design/tokens.css": ":root { --text: #fff; }\n",
    "features/a/a.css": ".a { color: var(--text); }\n",
}
WRONG = {
    "shared/ui/T.tsx": ['import { A } from "@features/a/A";', 'import { A } from "../../app/A";', 'element.innerHTML = text;', 'const x = <i dangerouslySetInnerHTML={{ __html: t }} />;', 'eval(text);',
                        'const x = <i style="color: red" />;', 'fetch("api/v1/me");'],
    "features/a/A.tsx": ['import { B } from "@features/b/B";', 'import { m } from "@app/main";', 'const m = await import("@features/b/B");'],
    "features/a/a.css": [".a { color: #ff0000; }", ".a { background: rgb(1 2 3); }"],
}


def complaints(files):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in files.items():
            path = pathlib.Path(directory, "web/src", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, ROOT / "tools/check-web", directory], capture_output=True, text=True)
        assert (done.returncode == 0) == (done.stdout == ""), done
        return done.stdout.splitlines() + done.stderr.splitlines()


found = complaints(RIGHT)
assert found == [], found
for name, lines in WRONG.items():
    for line in lines:
        found = complaints({**RIGHT, name: RIGHT[name] + line + "\n"})
        number = RIGHT[name].count("\n") + 1
        assert len(found) == 1 and found[0].startswith(f"web/src/{name}:{number}: "), (line, found)
print(f"{sum(map(len, WRONG.values()))} kinds of wrong lines were found")
