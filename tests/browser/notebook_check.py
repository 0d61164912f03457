"""Looks at an executed notebook: every cell ran, nothing was complained of, pictures came out."""

import base64
import json
import pathlib
import sys

import nbformat


# What is said of hosts: the sentence of a run of one host, or what a fleet's table holds.
HOSTS = {
    "fixture": "one host measured",
    "real": "one host measured",
    "fleet": "worst: client3",
    "agents": "throughput of a host: ",
}


def main(path, kind, pictures=None):
    with open(path, encoding="utf-8") as file:
        notebook = json.load(file)
    nbformat.validate(notebook)
    drawn = 0
    said = ""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["execution_count"] is not None, f"cell {cell['id']} did not run"
        for output in cell["outputs"]:
            assert output["output_type"] != "error", output
            assert output.get("name") != "stderr", f"cell {cell['id']}: {output['text']}"
            said += "".join(output.get("text", ""))
            picture = output.get("data", {}).get("image/png")
            if picture:
                drawn += 1
                if pictures:
                    pathlib.Path(f"{pictures}-notebook-{drawn:02}.png").write_bytes(base64.b64decode(picture))
    assert "of them measured" in said, said
    # At least a time line and the percentile curves.
    assert drawn >= 2, f"only {drawn} pictures"
    assert HOSTS[kind] in said, said
    by_id = {cell["id"]: cell.get("outputs", []) for cell in notebook["cells"]}
    headline = "".join("".join(output.get("text", "")) for output in by_id["headline"])
    assert "best IOPS: " in headline, headline
    if kind == "fixture":
        assert "WARN, cell 8: no steady state" in headline, headline
        overview = sum("image/png" in output.get("data", {}) for output in by_id["overview"])
        assert overview == 2, f"{overview} overview pictures, and two parameters were crossed"
    pictured = sum("image/png" in output.get("data", {}) for output in by_id["hosts-time"])
    if kind in ("fleet", "agents"):
        table = "".join("".join(output.get("data", {}).get("text/html", "")) for output in by_id["hosts"])
        assert "slowest" in table and "held back by" in table, table
        assert pictured >= 1, "no host is drawn over time"
    print(f"{drawn} pictures, no complaint")


main(*sys.argv[1:])
