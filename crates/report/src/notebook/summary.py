if CELLS.empty:
    print("nothing was measured")
else:
    table = pd.DataFrame({
        "MB/s": CELLS["bytes_per_s"] / 1e6,
        "± MB/s": CELLS["bytes_per_s_pm"],
        "ops/s": CELLS["ops_per_s"],
        "± ops/s": CELLS["ops_per_s_pm"],
        "p50 µs": CELLS["p50_ns"] / 1e3,
        "p99 µs": CELLS["p99_ns"] / 1e3,
        "± p99": CELLS["p99_pm"],
        "p99.9 µs": CELLS["p999_ns"] / 1e3,
        "failed": CELLS["failed"],
        "steady": CELLS["steady"],
        "verdict": CELLS["verdict"],
    })
    table.insert(0, "cell", CELLS["cell"])
    numbers = {"MB/s": "{:,.1f}", "ops/s": "{:,.0f}", "p50 µs": "{:,.1f}", "p99 µs": "{:,.1f}", "p99.9 µs": "{:,.1f}"}
    shares = {name: "{:.2%}" for name in ("± MB/s", "± ops/s", "± p99")}
    display(table.style.format({**numbers, **shares}, escape="html").hide(axis="index"))
