SHOWN = list(range(len(DATA["cells"])))[:12]  # which cells; all: range(len(DATA["cells"]))

for position in SHOWN:
    cell, lines = DATA["cells"][position], DATA["timelines"][position]
    if not lines or not lines[0]["start_s"]:
        continue
    figure, (rate, latency) = plt.subplots(2, 1, figsize=(11, 5), sharex=True, layout="constrained")
    for line in lines:
        middle = (np.array(line["start_s"]) + np.array(line["end_s"])) / 2
        rate.plot(middle, line["ops_per_s"], linewidth=1, label=line["op"])
    total = lines[0]
    middle = (np.array(total["start_s"]) + np.array(total["end_s"])) / 2
    for name in ("p50_ns", "p99_ns", "max_ns"):
        values = np.array(total[name], dtype=float) / 1e6
        latency.plot(middle, np.where(values > 0, values, np.nan), linewidth=1, label=name.removesuffix("_ns"))
    result = cell["result"]
    if result is not None:
        colour = STEADY_COLOURS[steady(result)]
        for axes in (rate, latency):
            axes.axvspan(result["window_start_s"], result["window_end_s"], color=colour, alpha=0.12, linewidth=0)
    for axes in (rate, latency):
        if total["start_s"][0] < 0:
            axes.axvspan(total["start_s"][0], 0, color="tab:gray", alpha=0.15, linewidth=0)
    rate.set(title=literal(cell["name"]), ylabel="operations/s", ylim=(0, None))
    latency.set(xlabel="seconds since the measurement began", ylabel="latency, ms")
    if any(value > 0 for value in total["max_ns"]):
        latency.set_yscale("log")
    rate.legend(loc="lower right", ncols=4)
    latency.legend(loc="upper right", ncols=4)
    plt.show()
    plt.close(figure)
