def heat_map(cells, metric, title, scale, number):
    """Two parameters against each other; the mean over repetitions and over what else was crossed."""
    crossed = [name for name in POINT if name in cells and cells[name].nunique() > 1]
    if len(crossed) < 2:
        return
    down, across = crossed[:2]
    table = cells.pivot_table(index=down, columns=across, values=metric, aggfunc="mean") / scale
    table = table.loc[sorted(table.index, key=rank), sorted(table.columns, key=rank)]
    figure, axes = plt.subplots(figsize=(2 + 1.2 * len(table.columns), 1.4 + 0.6 * len(table)), layout="constrained")
    sns.heatmap(table, annot=True, fmt=number, cmap="Blues", ax=axes, cbar=False, linewidths=1)
    axes.set_title(literal(title))
    plt.show()
    plt.close(figure)


if not CELLS.empty:
    for (workload, target), cells in CELLS.groupby(["workload", "target"], sort=False):
        where = f"{workload} on {target}"
        heat_map(cells, "bytes_per_s", f"{where}: throughput, MB/s", 1e6, ",.0f")
        heat_map(cells, "ops_per_s", f"{where}: IOPS", 1, ",.0f")
        heat_map(cells, "p99_ns", f"{where}: p99, µs", 1e3, ",.0f")
