OTHER = None  # the other run's file, for instance "other.json"
METRIC = "ops_per_s"

if OTHER is None:
    print("no other run is named: set OTHER")
else:
    with open(OTHER, encoding="utf-8") as file:
        other = summarise(json.load(file))
    points = sorted({key for cell in DATA["run"]["plan"]["cells"] for key in cell["point"]})
    keys = ["workload", "target", *(name for name in points if name in CELLS and name in other)]
    both = CELLS.groupby(keys, sort=False)[METRIC].mean().to_frame("this").join(
        other.groupby(keys, sort=False)[METRIC].mean().rename("other"), how="inner").reset_index()
    both["change"] = both["this"] / both["other"] - 1
    display(both)
    figure, axes = plt.subplots(figsize=(10, 1 + 0.35 * len(both)), layout="constrained")
    labels = [literal(" ".join(str(value) for value in row)) for row in both[keys].itertuples(index=False)]
    axes.barh(labels, both["change"] * 100)
    axes.set(xlabel=f"{METRIC}: change against the other run, %")
    axes.invert_yaxis()
    plt.show()
    plt.close(figure)
