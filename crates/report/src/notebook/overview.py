METRICS = [("bytes_per_s", "throughput, MB/s", 1e6), ("ops_per_s", "IOPS", 1), ("p99_ns", "p99, µs", 1e3)]
LINES = 12  # of a picture


def wide(values):
    """Whether values span more than a factor of ten."""
    return len(values) > 1 and min(values) > 0 and max(values) / min(values) > 10


def against(cells, name, others, where):
    """The metrics against a parameter: a line for each combination of the others, with 95 % intervals."""
    values = sorted(cells[name].dropna().unique(), key=rank)
    numeric = all(rank(value)[0] == 0 for value in values)
    places = {value: rank(value)[1] if numeric else float(n) for n, value in enumerate(values)}
    lines = list(cells.groupby(others, sort=False)) if others else [((), cells)]
    figure, all_axes = plt.subplots(1, len(METRICS), figsize=(13, 3.8), layout="constrained")
    for axes, (metric, title, scale) in zip(all_axes, METRICS):
        means = []
        for key, line in lines[:LINES]:
            line = line.assign(x=line[name].map(places))
            points = line[line[metric] > 0].groupby("x").agg(
                mean=(metric, "mean"), low=(f"{metric}_low", "min"), high=(f"{metric}_high", "max")) / scale
            if points.empty:
                continue
            means.extend(points["mean"])
            label = literal(", ".join(f"{other} {value}" for other, value in zip(others, key)))
            drawn = axes.plot(points.index, points["mean"], "o-" if numeric else "o", linewidth=1.2, label=label)
            if numeric and len(points) > 1:
                axes.fill_between(points.index, points["low"], points["high"], alpha=0.2, color=drawn[0].get_color())
            else:
                axes.vlines(points.index, points["low"], points["high"], color=drawn[0].get_color())
        if not means:
            continue
        if numeric and wide(list(places.values())):
            axes.set_xscale("log")
        axes.set_xticks(list(places.values()), [literal(str(value)) for value in values])
        axes.minorticks_off()
        axes.set(title=title, xlabel=literal(name))
        if wide(means):
            axes.set(yscale="log", ylim=(min(means) / 3, max(means) * 3))
        else:
            axes.set_ylim(0, max(means) * 1.25)
    if others:
        all_axes[0].legend(fontsize="x-small")
    figure.suptitle(literal(where))
    plt.show()
    plt.close(figure)


if not CELLS.empty:
    for (workload, target), cells in CELLS.groupby(["workload", "target"], sort=False):
        crossed = [name for name in POINT if name in cells and cells[name].nunique() > 1]
        for name in crossed:
            against(cells, name, [other for other in crossed if other != name], f"{workload} on {target}")
