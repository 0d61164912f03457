if CELLS.empty:
    print("nothing was measured")
else:
    usable = CELLS[CELLS["verdict"].str.upper() != "INVALID"]
    usable = CELLS if usable.empty else usable
    for title, metric, best, scale, unit in [
        ("best throughput", "bytes_per_s", "idxmax", 1e6, "MB/s"),
        ("best IOPS", "ops_per_s", "idxmax", 1, "/s"),
        ("lowest p99", "p99_ns", "idxmin", 1e3, "µs"),
    ]:
        known = usable[usable[metric] > 0]
        if known.empty:
            continue
        cell = known.loc[getattr(known[metric], best)()]
        limit = (DATA["cells"][cell["position"]]["result"].get("limit") or {}).get("sentence")
        print(f"{title}: {cell[metric] / scale:,.1f} {unit} in {cell['cell']}" + (f"; {limit}" if limit else ""))
    doubts = {}
    for cell in DATA["cells"]:
        verdict = cell["result"] and cell["result"]["verdict"]
        for reason in verdict["reasons"] if verdict and verdict["validity"].upper() != "VALID" else []:
            doubts.setdefault((verdict["validity"], reason), []).append(str(cell["index"] + 1))
    for (validity, reason), cells in doubts.items():
        more = f" and {len(cells) - 8} more" if len(cells) > 8 else ""
        print(f"{validity}, cell{'s' if len(cells) > 1 else ''} {', '.join(cells[:8])}{more}: {reason}")
