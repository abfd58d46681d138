package manual

import (
	"fmt"
	"html"
	"strings"
)

// view holds what a page shows inside of the frame that all share.
type view struct {
	title    string
	address  string // of the page in the menu
	query    string // what was searched
	sections []heading
	body     string // HTML
}

// atLeast is the number of sections from which a page lists them.
const atLeast = 3

// framed returns the HTML of a page. The menu follows the text: a phone shows the text first, and a link leads to the menu.
func framed(v view, menu shelf) string {
	var out strings.Builder
	fmt.Fprintf(&out, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%s · Nodal</title>
<link rel="icon" href="/ui/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="%s">
</head>
<body>
<a class="skip" href="#main">Skip to content</a>
<header>
<a class="brand" href="/docs/">Nodal</a>
<a class="to-menu" href="#menu">Pages</a>
<form role="search" action="%s"><input type="search" name="q" value="%s" maxlength="%d" placeholder="Search" aria-label="Search the documents"></form>
<a href="/ui/">Dashboard</a>
</header>
<div class="columns">
<main id="main">
`, html.EscapeString(v.title), stylePath, searchPath, html.EscapeString(v.query), maxQuery)
	out.WriteString(withContents(v.body, v.sections))
	out.WriteString("</main>\n<nav id=\"menu\" aria-label=\"Documents\">\n<ul>\n")
	for _, p := range menu {
		here := ""
		if p.address == v.address {
			here = ` aria-current="page"`
		}
		fmt.Fprintf(&out, "<li><a href=\"%s\"%s>%s</a></li>\n", html.EscapeString(p.address), here, html.EscapeString(p.title))
	}
	out.WriteString("</ul>\n</nav>\n</div>\n</body>\n</html>\n")
	return out.String()
}

// withContents puts the list of a long page's sections below its title.
func withContents(body string, sections []heading) string {
	const end = "</h1>\n"
	title, rest, found := strings.Cut(body, end)
	if len(sections) < atLeast || !found {
		return body
	}
	var list strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&list, "<li><a href=\"#%s\">%s</a></li>\n", html.EscapeString(s.id), html.EscapeString(s.text))
	}
	return title + end + "<details class=\"contents\"><summary>On this page</summary>\n<ul>\n" + list.String() + "</ul>\n</details>\n" + rest
}
