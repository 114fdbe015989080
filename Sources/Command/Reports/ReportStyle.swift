import Conversion

/// The style of a report: the colours and the type of Sluice's pages, for screens and for paper.
enum ReportStyle {
    static let sheet: HTML = """
        :root{color-scheme:light dark;--paper:light-dark(#faf9f6,#131518);--raised:light-dark(#fff,#1b1e22);\
        --sunk:light-dark(#f2f0ea,#0d0e10);--line:light-dark(#e4e1d9,#2b2f34);--edge:light-dark(#89867e,#767c84);\
        --ink:light-dark(#1b1d20,#e9e7e2);--soft:light-dark(#5a5c60,#a6a9ae);--accent:light-dark(#0a6074,#6ec6da);\
        --tint:light-dark(#e6eff0,#17282d);--warn:light-dark(#855600,#e4b455);--bad:light-dark(#b0271f,#ff8d83);\
        --hair:1px solid var(--line)}
        *,::before,::after{box-sizing:border-box}
        body{margin:0;background:var(--paper);color:var(--ink);border-top:4px solid var(--edge);\
        font:.875rem/1.5 system-ui,sans-serif;font-variant-numeric:tabular-nums}
        main{display:grid;gap:2.25rem;max-width:76rem;margin:auto;padding:1.5rem clamp(1rem,3vw,2.5rem) 3rem}
        main>*,.pair>*{min-width:0}
        h1,h2,h3,p,ul,ol,dl,dd,figure{margin:0;padding:0}
        ul,ol{list-style:none}
        h1{font-size:1.25rem;line-height:1.3;font-weight:600;letter-spacing:-.01em;overflow-wrap:anywhere}
        h2{font-size:1rem;line-height:1.4;font-weight:600;margin-bottom:.6rem}
        h3{font-size:.875rem;font-weight:400}
        h2 small,h3 small{margin-left:.6rem}
        b{font-weight:600}
        table+.soft{padding-top:.5rem}
        small,.soft,dt,figcaption{color:var(--soft);font-size:.8125rem;font-weight:400}
        code{font:.8125rem/1.5 ui-monospace,"SF Mono","Cascadia Mono","DejaVu Sans Mono",monospace;\
        overflow-wrap:anywhere}
        .say{font-size:1rem;margin:.15rem 0 .25rem}
        .dir{color:var(--soft)}
        bdi,td{overflow-wrap:anywhere}
        .figs{display:grid;grid-template-columns:repeat(auto-fit,minmax(8.25rem,1fr));gap:1rem 1.5rem}
        .figs div{display:flex;flex-direction:column-reverse;justify-content:flex-end}
        .figs dd{font-size:1.75rem;line-height:1.25;font-weight:500;white-space:nowrap}
        .figs dd span{font-size:.875rem;color:var(--soft);font-weight:400}
        .facts{display:grid;grid-template-columns:max-content minmax(0,1fr);gap:.2rem 1.25rem;align-items:baseline}
        .facts dd{overflow-wrap:anywhere}
        svg{display:block;width:100%}
        .stack{height:1.1rem;border-radius:3px;background:var(--line)}
        .done{fill:var(--accent)}
        .bad{fill:var(--bad)}
        .off{fill:var(--soft)}
        .skip{fill:var(--edge)}
        .run{fill:var(--accent);opacity:.45}
        .wait{fill:var(--line)}
        .from{fill:var(--edge);opacity:.6}
        .aim{fill:none;stroke:var(--ink);stroke-dasharray:3 3;vector-effect:non-scaling-stroke}
        .g{fill:none;stroke:var(--line);vector-effect:non-scaling-stroke}
        .key{display:grid;grid-template-columns:repeat(auto-fill,minmax(7.5rem,1fr));gap:.6rem 1.25rem;\
        padding-top:.85rem}
        .key dd{font-size:1.25rem;line-height:1.3;font-weight:500}
        .s{white-space:nowrap;font-size:.8125rem}
        .s::before{content:"";display:inline-block;width:.68em;height:.68em;margin-right:.5em;\
        background:currentColor;border-radius:50%;forced-color-adjust:none}
        .waiting::before,.delayed::before,.cancelled::before,.running::before,.publishing::before{background:none;\
        border:1.5px solid}
        .delayed::before{border-style:dotted}
        .running::before{background:linear-gradient(90deg,currentColor 50%,#0000 0)}
        .publishing::before{background:radial-gradient(currentColor 35%,#0000 40%)}
        .cancelled::before{background:linear-gradient(45deg,#0000 42%,currentColor 0 58%,#0000 0)}
        .accepted::before{border-radius:0;clip-path:polygon(50% 4%,100% 94%,0 94%)}
        .skipped::before{border-radius:0;\
        clip-path:polygon(0 38%,55% 38%,55% 8%,100% 50%,55% 92%,55% 62%,0 62%)}
        .completed::before{border-radius:0;clip-path:polygon(4% 52%,18% 36%,38% 56%,80% 8%,96% 22%,40% 88%)}
        .failed::before{border-radius:0;clip-path:polygon(18% 0,50% 32%,82% 0,100% 18%,68% 50%,100% 82%,82% 100%,\
        50% 68%,18% 100%,0 82%,32% 50%,0 18%)}
        .running::before,.publishing::before,.completed::before{color:var(--accent)}
        .s.failed{color:var(--bad)}
        .s.delayed{color:var(--warn)}
        .chart{position:relative;padding-right:3.5rem}
        .chart svg{height:8rem;border-bottom:1px solid var(--edge);overflow:visible}
        .chart ol{display:flex;justify-content:space-between;font-size:.75rem;color:var(--soft)}
        .chart .x{padding-top:.25rem}
        .chart .y{position:absolute;inset:-.55rem 0 auto auto;height:9.1rem;width:3rem;flex-direction:column}
        .chart.both svg{height:11rem;border:0}
        .chart.both .y{height:12.1rem}
        .chart .bad{stroke:var(--paper);vector-effect:non-scaling-stroke}
        .axis{fill:none;stroke:var(--edge);vector-effect:non-scaling-stroke}
        figcaption{padding-top:.5rem}
        .k{display:inline-block;width:.68em;height:.68em;margin-right:.5em;background:var(--accent)}
        .k.sources{background:var(--edge);opacity:.6}
        article{padding-block:1rem;border-top:var(--hair)}
        article>p{max-width:60rem}
        article h3 code{font-size:1rem;font-weight:600;margin-right:.6rem}
        article b{margin-right:.5rem}
        article table{margin-top:.5rem}
        table{width:100%;border-collapse:collapse}
        table+h2{margin-top:2.25rem}
        th,td{padding:.38rem 1.1rem .38rem 0;text-align:start;vertical-align:baseline;border-bottom:var(--hair)}
        th{font-weight:400;white-space:nowrap}
        thead th{font-size:.75rem;color:var(--soft);padding-block:.25rem}
        :is(th,td):last-child{padding-right:0}
        .n{text-align:end;white-space:nowrap}
        .w{color:var(--soft);width:50%}
        .what{white-space:nowrap}
        p+p>.k{margin-top:.2rem}
        .strips>li{display:grid;grid-template-columns:minmax(0,1fr) 4.5rem;gap:.1rem 1rem;padding-block:.6rem;\
        border-top:var(--hair);align-items:center}
        .strips p{grid-column:1 / -1}
        .strips b{margin-right:.6rem}
        .strips .s,.src .s{margin-left:.4rem}
        article tbody tr:last-child>*{border:0}
        p+.chart{margin-top:1rem}
        .strip{height:1.1rem;background:var(--tint);border-radius:2px}
        .strip path{fill:var(--bad);stroke:var(--bad);stroke-width:1.5;vector-effect:non-scaling-stroke}
        .strips .end{grid-column:2;font-size:.75rem;color:var(--soft);text-align:end}
        .pair{display:grid;gap:2.25rem}
        footer{border-top:var(--hair);padding-top:.75rem;display:grid;gap:.35rem}
        footer code{margin-right:.9rem;color:var(--ink);user-select:all}
        @media (width >= 75rem){.pair{grid-template-columns:1fr 1fr}}
        @media screen and (width < 44rem){
        .figs dd{font-size:1.375rem}
        h2 small,h3 small{display:block;margin-left:0}
        table,tbody{display:block}
        thead{position:absolute;clip-path:inset(50%)}
        tr{display:flex;flex-wrap:wrap;align-items:baseline;gap:.1rem 1rem;padding-block:.55rem;\
        border-bottom:var(--hair)}
        article tbody tr:last-child{border:0}
        th,td{padding:0;border:0}
        td:empty{display:none}
        .src{flex:1}
        .w{flex:1 0 100%;width:auto}
        .what{flex:1;white-space:normal}
        [data-k]::before{content:attr(data-k) " ";color:var(--soft);font-size:.8125rem}
        .strips>li{grid-template-columns:minmax(0,1fr) auto}
        }
        @media print{
        :root{color-scheme:light}
        body{border:0;background:none;font-size:9pt}
        main{max-width:none;padding:0;gap:1.4rem}
        svg,.s::before,.k,.strip{print-color-adjust:exact;-webkit-print-color-adjust:exact}
        h1,h2,h3{break-after:avoid}
        tr,li,figure,.figs,.key{break-inside:avoid}
        thead{display:table-header-group}
        .chart svg{height:5.5rem}
        .chart .y{height:6.6rem}
        .chart.both svg{height:8rem}
        .chart.both .y{height:9.1rem}
        .figs{grid-template-columns:repeat(auto-fit,minmax(7.5rem,1fr));gap:.6rem 1rem}
        .figs dd{font-size:1.125rem}
        .figs dd span{font-size:.75rem}
        .key{grid-template-columns:repeat(auto-fill,minmax(5.5rem,1fr))}
        .key dd{font-size:1rem}
        @page{margin:16mm 14mm}
        }

        """
}
