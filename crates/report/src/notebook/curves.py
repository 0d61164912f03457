figure, axes = plt.subplots(figsize=(11, 6), layout="constrained")
for position in SHOWN:
    for curve in DATA["curves"][position][:1]:
        milliseconds = np.array(curve["response_ns"], dtype=float) / 1e6
        axes.plot(curve["one_in"], np.where(milliseconds > 0, milliseconds, np.nan), linewidth=1.2,
                  label=literal(DATA["cells"][position]["name"]))
if axes.lines:
    axes.set(xscale="log", yscale="log", xlabel="percentile", ylabel="response time, ms")
    nines = range(1, 1 + int(np.log10(max(axes.get_xlim()[1], 10))))
    axes.set_xticks([1, 2, *(10**n for n in nines)],
                    ["0 %", "50 %", *(f"{100 * (1 - 10.0**-n):.{max(n - 2, 0)}f} %" for n in nines)])
    axes.legend(fontsize="x-small", loc="upper left", bbox_to_anchor=(1, 1))
    plt.show()
plt.close(figure)
