// Package manual shows the documents of the program at /docs.
//
//	handler.go  what is at which path; pages, examples, the search
//	shelf.go    the pages, their addresses, titles and order
//	render.go   Markdown to HTML
//	link.go     links between documents to links between pages
//	api.go      the OpenAPI document
//	reference.go its calls and types as pages
//	search.go   the sections that hold the words of a search
//	frame.go    the HTML around each of them
//	style.css   their looks: light and dark, wide and narrow, without a script
//
// The pages are those of the repository and hold nothing of a node, so every caller may read them, as with the files of
// the dashboard. No page is kept: it is rendered when a caller asks for it, one at a time, so that strangers cost
// the node one page of memory and no more than one core.
//
// Start reading at Front in handler.go.
package manual
