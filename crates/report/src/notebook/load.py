import base64
import json
import zlib

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from IPython.display import display

DATA = json.loads(zlib.decompress(base64.b64decode(PACKED)))
sns.set_theme(context="notebook", style="whitegrid", palette="colorblind")
plt.rcParams.update({"figure.dpi": 110, "axes.spines.top": False, "axes.spines.right": False})


def literal(text):
    """A text that matplotlib takes as it is."""
    return text.replace("$", r"\$")


def half_width(estimate):
    """Half of the width of the 95 % interval, relative to the mean."""
    low, high, mean = estimate["low"], estimate["high"], estimate["mean"]
    return (high - low) / 2 / mean if mean and None not in (low, high) else np.nan


UNITS = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def rank(text):
    """What a parameter's value means, so that 64KiB comes after 4KiB."""
    text = str(text)
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            text, scale = text.removesuffix(unit), factor
            break
    else:
        scale = 1
    try:
        return (0, float(text) * scale, "")
    except ValueError:
        return (1, 0.0, text)


STEADY_COLOURS = {"yes": "tab:green", "no": "tab:orange", "not judged": "tab:blue"}


def steady(result):
    """Whether a rule found the measurement steady."""
    outcome = result["steady"]
    if outcome["rule"] == "none":
        return "not judged"
    return "yes" if outcome["reached"] else "no"


def summarise(data):
    """One row a cell that measured something."""
    planned = {cell["index"]: cell for cell in data["run"]["plan"]["cells"]}
    rows = []
    for position, cell in enumerate(data["cells"]):
        result, plan = cell["result"], planned[cell["index"]]
        if result is None:
            continue
        total = result["total"]
        latency = total["response"]
        rows.append({
            "position": position,
            "cell": plan["name"],
            "workload": plan["workload_name"],
            "target": plan["target"]["name"],
            **plan["point"],
            "bytes_per_s": total["bytes_per_s"]["mean"],
            "bytes_per_s_pm": half_width(total["bytes_per_s"]),
            **{f"{name}_{end}": total[name][end] for name in ("bytes_per_s", "ops_per_s", "p99_ns") for end in ("low", "high")},
            "ops_per_s": total["ops_per_s"]["mean"],
            "ops_per_s_pm": half_width(total["ops_per_s"]),
            "p50_ns": latency["p50_ns"],
            "p99_ns": latency["p99_ns"],
            "p99_pm": half_width(total["p99_ns"]),
            "p999_ns": latency["p999_ns"],
            "max_ns": latency["max_ns"],
            "failed": total["failed"],
            "steady": steady(result),
            "verdict": result["verdict"]["validity"],
        })
    return pd.DataFrame(rows)


CELLS = summarise(DATA)
# Crossed parameters.
POINT = sorted({key for cell in DATA["run"]["plan"]["cells"] for key in cell["point"]})
print(f"{len(DATA['cells'])} cells, {len(CELLS)} of them measured")
