// Leaves out the parts of uPlot that chart.tsx does not use. It draws lines over time on linear scales: no
// legend, points, bars, steps, curves and bands, no other scales, no dates as text. Once nothing refers to a part, the bundler
// drops it. A cut that changes nothing fails the build: another version of the library needs a look here.
import { readFile } from "node:fs/promises";

const kCuts = [
  // Scales: linear ones.
  [/\b(?:\w+\.)?\w*[dD]istr (?:==|>=) (?:2|3|4|100)\b/g, "false"],
  [/\b(?:\w+\.)?distr == 1\b/g, "true"],
  // Data: one column of x for all series.
  [/\bmode == 2\b/g, "false"],
  [/\bmode == 1\b/g, "true"],
  // Drawings: lines.
  ["const pointsPath = points() ;", "const pointsPath = null;"],
  ["if (show || idxs) {", "if (false) {"],
  [/\(paths\.(?:stepped|bars|spline) +=.*/g, ""],
  ["paths = uPlot.paths = {\n\t\tpoints,\n\t}", "paths = uPlot.paths = {}"],
  [/\bbands\.forEach\(\(b, bi\)/g, "false && $&"],
  // The legend.
  ["const showLegend = legend.show;", ""],
  [/\bshowLegend\b/g, "false"],
  [/\tfunction initLegendRow\(s, i\) \{[\s\S]*?\n\t\}\n/, ""],
  [/\blegend\.live\b/g, "false"],
  // Dates as text.
  [/const (?:days3|months3) = .*/g, ""],
  [/const engNames = \{[\s\S]*?\n\};/, "const engNames = null;"],
  [/const _time(?:AxisVals|SeriesVal) +=.*/g, ""],
  ["const _fmtDate = (opts.fmtDate || fmtDate);", ""],
  [/isStr\(sv\) \? timeSeriesVal.*? : sv \|\| _timeSeriesVal/g, "sv"],
  [/isTime \? \(\s*\/\/ config array[\s\S]*?\) : av \|\| numAxisVals/g, "av || numAxisVals"],
  [/const _timeAxisStamps = \[[\s\S]*?\n\t\];/g, "const _timeAxisStamps = null;"],
  // What is for callers only.
  [/\buPlot\.(?:join|fmtDate|tzDate|fmtNum|range\w+|orient|addGap|clipGaps|assign) +=.*/g, ""],
  [/\bself\.(?:addSeries|delSeries|addBand|setBand|delBand|setLegend|batch) = \w+;/g, ""],
];

export const leanChart = {
  name: "lean-chart",
  setup(step) {
    step.onLoad({ filter: /[\\/]uPlot\.esm\.js$/ }, async ({ path }) => {
      let contents = await readFile(path, "utf8");
      for (const [pattern, to] of kCuts) {
        const cut = contents.replace(pattern, to);
        if (cut === contents) throw new Error(`${path}: nothing matches ${pattern}; see lean_chart.mjs`);
        contents = cut;
      }
      return { contents, loader: "js" };
    });
  },
};
