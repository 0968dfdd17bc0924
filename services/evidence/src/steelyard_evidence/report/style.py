"""The report's style sheet: one for light, dark, narrow screens and paper."""

# Okabe and Ito's palette, darkened or lightened until each colour stands out from its background; marks differ as well.
STYLE = """
:root{--bg:#fff;--fg:#1b1f24;--dim:#5c6570;--rule:#dfe3e8;--card:#f6f8fa;
--s0:#0b5fa5;--s1:#b34700;--s2:#00735c;--s3:#a03e7e;--s4:#7a6400;--s5:#3a86c8;--s6:#444;--s7:#8a2be2}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e4e7eb;--dim:#9aa4af;--rule:#2c333b;--card:#1c2127;
--s0:#5aaef0;--s1:#f0913a;--s2:#3cc9a7;--s3:#e392c4;--s4:#e0c341;--s5:#9fd0f7;--s6:#c7c7c7;--s7:#b99aff}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1.2rem;background:var(--bg);color:var(--fg);
font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
h1{font-size:1.5rem;margin:.2rem 0 .4rem}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}
p{margin:.4rem 0;max-width:44rem}.dim{color:var(--dim)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.1rem 1rem;margin:.6rem 0;font-size:.92rem}
dt{color:var(--dim)}dd{margin:0;overflow-wrap:anywhere}
figure{margin:1rem 0;padding:.8rem;background:var(--card);border:1px solid var(--rule);border-radius:8px}
figcaption{font-weight:600;margin-bottom:.3rem}
.chart{display:block;width:100%;height:auto}
.grid{stroke:var(--rule)}.tick,.axis{fill:var(--dim);font-size:12px}.axis{font-size:12.5px}
.line{fill:none;stroke-width:2}.error{stroke-width:1.2;opacity:.55}.cross,.ring{fill:none;stroke-width:2}
.key{width:28px;height:12px;vertical-align:middle;margin-right:.35rem}.key path{stroke-width:2}
.legend{display:flex;flex-wrap:wrap;gap:.15rem 1.1rem;list-style:none;margin:.3rem 0 0;padding:0;font-size:.88rem}
.scroll{overflow-x:auto}
table{border-collapse:collapse;font-size:.86rem;font-variant-numeric:tabular-nums;margin-top:.6rem;width:100%}
th,td{padding:.22rem .55rem;text-align:right;white-space:nowrap;border-bottom:1px solid var(--rule)}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;background:var(--bg);
white-space:normal;overflow-wrap:break-word;max-width:18rem}
figure th:first-child,figure td:first-child{background:var(--card)}
th{font-weight:600;color:var(--dim)}
details>summary{cursor:pointer;color:var(--dim);font-size:.9rem;margin-top:.5rem}
@media(max-width:600px){body{padding:.7rem;font-size:15px}figure{padding:.5rem}.tick,.axis{font-size:20px}
dl{grid-template-columns:1fr}dt{margin-top:.35rem}th:first-child,td:first-child{max-width:8.5rem}}
@media print{body{max-width:none;padding:0;font-size:10pt}figure{border-color:#bbb;box-decoration-break:clone}
h2,figcaption,.chart,.lead{break-after:avoid}.chart,.legend,tr{break-inside:avoid}.chart{max-height:14cm}
.scroll{overflow:visible}th,td{padding:.12rem .3rem;font-size:8pt}details{display:block}}
""" + "".join(f".s{number}{{stroke:var(--s{number});fill:var(--s{number})}}" for number in range(8))
