import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import { App } from "./app";
import "./style.css";

const place = document.getElementById("app");
if (place) render(<App />, place);
