def finding(cell, host=None):
    """What held a cell or one of its hosts back, in a sentence."""
    limit = cell["result"].get("limit") or {}
    if host is None:
        return limit.get("sentence", "")
    return next((one["sentence"] for one in limit.get("hosts", []) if one["host"] == host), "")


def summarise_hosts(data):
    """One row a cell and host of a fleet; none of a run of one host."""
    names = {cell["index"]: cell["name"] for cell in data["run"]["plan"]["cells"]}
    rows = []
    for position, cell in enumerate(data["cells"]):
        if cell["result"] is None:
            continue
        for host in cell["result"].get("hosts", []):
            total = host["total"]
            lost = host.get("lost")
            rows.append({
                "position": position,
                "cell": names[cell["index"]],
                "host": host["name"],
                "bytes_per_s": total["bytes_per_s"]["mean"],
                "bytes_per_s_pm": half_width(total["bytes_per_s"]),
                "ops_per_s": total["ops_per_s"]["mean"],
                "ops_per_s_pm": half_width(total["ops_per_s"]),
                "p50_ns": total["response"]["p50_ns"],
                "p99_ns": total["response"]["p99_ns"],
                "failed": total["failed"],
                "note": f"lost at {lost['at_s']:.1f} s: {lost['why']}" if lost else "",
                "held back by": finding(cell, host["name"]),
            })
    return pd.DataFrame(rows)


SPREADS = {"bytes-per-s": ("throughput", 1e6, "MB/s"), "ops-per-s": ("operations", 1, "ops/s"),
           "p99-ns": ("p99", 1e3, "µs")}

# What limited each cell, and what to try next.
for position, cell in enumerate(DATA["cells"]):
    if cell["result"] is None:
        continue
    name = DATA["run"]["plan"]["cells"][position]["name"]
    limit = cell["result"].get("limit") or {"sentence": "what held it back was not looked at"}
    print(f"{name}: {limit['sentence']}" + (f"\n    next: {limit['next']}" if limit.get("next") else ""))
    for spread in (cell["result"].get("fleet") or {}).get("spread", []):
        what, scale, unit = SPREADS.get(spread["measure"], (spread["measure"], 1, ""))
        worst = f"; worst: {spread['slowest']}" if spread["greatest"] > spread["least"] else ""
        print(f"    {what} of a host: {spread['least'] / scale:,.1f} to {spread['greatest'] / scale:,.1f} {unit}, "
              f"varies by {spread['variation']:.1%}{worst}")

HOSTS = summarise_hosts(DATA)
if HOSTS.empty:
    print("one host measured: it is the whole")
else:
    table = pd.DataFrame({
        "cell": HOSTS["cell"],
        "host": HOSTS["host"],
        "MB/s": HOSTS["bytes_per_s"] / 1e6,
        "± MB/s": HOSTS["bytes_per_s_pm"],
        "ops/s": HOSTS["ops_per_s"],
        "± ops/s": HOSTS["ops_per_s_pm"],
        "p50 µs": HOSTS["p50_ns"] / 1e3,
        "p99 µs": HOSTS["p99_ns"] / 1e3,
        "failed": HOSTS["failed"],
        "note": HOSTS["note"],
        "held back by": HOSTS["held back by"],
    })
    slowest = HOSTS[HOSTS["note"] == ""].groupby("position")["ops_per_s"].idxmin()
    table.loc[slowest, "note"] = "slowest"
    numbers = {"MB/s": "{:,.1f}", "ops/s": "{:,.0f}", "p50 µs": "{:,.1f}", "p99 µs": "{:,.1f}"}
    shares = {name: "{:.2%}" for name in ("± MB/s", "± ops/s")}
    display(table.style.format({**numbers, **shares}, escape="html").hide(axis="index"))
    for position, hosts in list(HOSTS.groupby("position"))[:12]:
        moved = hosts["bytes_per_s"].max() > 0
        metric, scale, unit = ("bytes_per_s", 1e6, "MB/s") if moved else ("ops_per_s", 1, "operations/s")
        # With more than 40 hosts, show the slowest 40.
        hosts = hosts.nsmallest(40, metric) if len(hosts) > 40 else hosts
        colours = ["tab:gray" if note.startswith("lost") else "tab:orange" if note == "slowest" else "tab:blue"
                   for note in table.loc[hosts.index, "note"]]
        figure, (rate, latency) = plt.subplots(
            1, 2, figsize=(11, 1.2 + 0.3 * len(hosts)), sharey=True, layout="constrained")
        names = [literal(name) for name in hosts["host"]]
        error = (hosts[metric] * hosts[f"{metric}_pm"]).fillna(0) / scale
        rate.barh(names, hosts[metric] / scale, xerr=error, color=colours)
        latency.barh(names, hosts["p99_ns"] / 1e3, color=colours)
        rate.set(title=literal(hosts["cell"].iloc[0]), xlabel=unit)
        latency.set(title="orange: the slowest; grey: lost", xlabel="p99, µs")
        rate.invert_yaxis()
        plt.show()
        plt.close(figure)
