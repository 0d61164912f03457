LINES = 16  # of more hosts the slowest is drawn over the others


def host_lines(axes, series, name, scale, slowest, order):
    """A line a host, in its own colour; of many hosts all are grey but the slowest."""
    many = len(series) > LINES
    for host in series:
        y = np.array(host[name], dtype=float) / scale
        x = np.array(host["at_s"] if "at_s" in host else host["end_s"], dtype=float)
        slow = host["host"] == slowest
        colour = ("tab:orange" if slow else "lightgray") if many else f"C{order.index(host['host']) % 10}"
        label = literal(host["host"]) + (" (slowest)" if slow and len(series) > 1 else "")
        axes.plot(x, y, linewidth=1, color=colour, zorder=3 if slow else 2,
                  label=label if slow or not many else "_")


SERIES = [
    ("load", "bytes_per_s", 1e6, "load, MB/s"),
    ("load", "ops_per_s", 1, "operations/s"),
    ("sample", "busiest_core", 0.01, "busiest core, %"),
    ("sample", "all_cores", 0.01, "all cores, %"),
    ("sample", "received_bytes_per_s", 1e6, "card receives, MB/s"),
    ("sample", "sent_bytes_per_s", 1e6, "card sends, MB/s"),
    ("sample", "busiest_disk", 0.01, "busiest disk, %"),
    ("sample", "read_bytes_per_s", 1e6, "disk reads, MB/s"),
    ("sample", "written_bytes_per_s", 1e6, "disk writes, MB/s"),
]

for position in SHOWN:
    cell, lines, samples = DATA["cells"][position], DATA["host_lines"][position], DATA["samples"][position]
    slowest = None
    if not HOSTS.empty:
        of_cell = HOSTS[(HOSTS["position"] == position) & (HOSTS["note"] == "")]
        slowest = None if of_cell.empty else of_cell.loc[of_cell["ops_per_s"].idxmin(), "host"]
    moved = any(value > 0 for line in lines for value in line["bytes_per_s"])
    kept = {"load": lines, "sample": samples}
    order = list(dict.fromkeys(host["host"] for host in [*lines, *samples]))
    skipped = "ops_per_s" if moved else "bytes_per_s"
    wanted = [(kept[kind], name, scale, text) for kind, name, scale, text in SERIES
              if name != skipped and any(value is not None for host in kept[kind] for value in host[name])]
    if not wanted:
        continue
    figure, panels = plt.subplots(
        len(wanted), 1, figsize=(11, 0.8 + 1.7 * len(wanted)), sharex=True, squeeze=False, layout="constrained")
    for axes, (series, name, scale, text) in zip(panels[:, 0], wanted):
        host_lines(axes, series, name, scale, slowest, order)
        axes.set(ylabel=text, ylim=(0, 105 if scale == 0.01 else None))
        axes.yaxis.label.set_fontsize("small")
        if (result := cell["result"]) is not None:
            axes.axvspan(result["window_start_s"], result["window_end_s"], alpha=0.12, linewidth=0,
                         color=STEADY_COLOURS[steady(result)])
    panels[0, 0].set_title(literal(DATA["run"]["plan"]["cells"][position]["name"]))
    panels[-1, 0].set_xlabel("seconds since the measurement began")
    panels[0, 0].legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))
    plt.show()
    plt.close(figure)
