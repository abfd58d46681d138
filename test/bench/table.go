package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

var headings = []string{"what", "unit", "raw", "nodal", "peer", "nodal - raw", "nodal / raw", "nodal / peer", "aim", ""}

// cells returns a row as text.
func (r *row) cells() []string {
	raw, hasRaw := r.values[rawColumn]
	own, hasOwn := r.values[nodalColumn]
	peer, hasPeer := r.values[peerColumn]
	cells := []string{
		r.what, r.unit, number(raw, hasRaw), number(own, hasOwn), number(peer, hasPeer),
		"", "", "", r.aim.text, r.verdict(),
	}
	if hasOwn && hasRaw {
		cells[5] = fmt.Sprintf("%+.1f", own-raw)
	}
	if hasOwn && hasRaw && raw > 0 {
		cells[6] = fmt.Sprintf("%.2f", own/raw)
	}
	if hasOwn && hasPeer && peer > 0 {
		cells[7] = fmt.Sprintf("%.2f", own/peer)
	}
	return cells
}

// number formats a value with its significant digits.
func number(value float64, known bool) string {
	switch {
	case !known:
		return ""
	case value == 0:
		return "0"
	case value < 10:
		return fmt.Sprintf("%.2f", value)
	case value < 100:
		return fmt.Sprintf("%.1f", value)
	}
	return fmt.Sprintf("%.0f", value)
}

// text returns the table for a terminal.
func (b *suite) text() string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(headings, "\t"))
	for _, r := range b.rows {
		fmt.Fprintln(w, strings.Join(r.cells(), "\t"))
	}
	w.Flush() // a write into memory cannot fail
	for _, note := range slices.Concat(b.gaps, b.notes) {
		fmt.Fprintln(&out, "-", note)
	}
	return out.String()
}

// markdown returns the table for the document.
func (b *suite) markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "| %s |\n", strings.Join(headings, " | "))
	fmt.Fprintf(&out, "|---|---|%s---|---|\n", strings.Repeat("---:|", len(headings)-4))
	for _, r := range b.rows {
		fmt.Fprintf(&out, "| %s |\n", strings.Join(r.cells(), " | "))
	}
	return out.String()
}
