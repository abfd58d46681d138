package client

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// tableWidth is the width that tables keep to, by shortening their last column.
const tableWidth = 120

// leastText is the width that the last column keeps in a line of long names.
const leastText = 16

// table prints rows in columns. Rows that come later keep the widths of the first ones, or widen them.
type table struct {
	out    io.Writer
	head   []string
	wide   bool // nothing is shortened
	widths []int
}

// print prints rows, with the heads before the first ones.
func (t *table) print(rows ...[]string) error {
	for i, row := range rows {
		rows[i] = make([]string, len(row))
		for j, text := range row {
			rows[i][j] = cell(text)
		}
	}
	if t.widths == nil {
		rows = append([][]string{t.head}, rows...)
		t.widths = make([]int, len(t.head))
		for _, row := range rows {
			for i, text := range row {
				t.widths[i] = max(t.widths[i], utf8.RuneCountInString(text))
			}
		}
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(t.out, t.line(row)); err != nil {
			return err
		}
	}
	return nil
}

// line lays a row out.
func (t *table) line(row []string) string {
	var b strings.Builder
	used := 0
	for i, text := range row {
		if i == len(row)-1 {
			if !t.wide {
				text = shortened(text, max(tableWidth-used, leastText))
			}
			b.WriteString(text)
			break
		}
		n := utf8.RuneCountInString(text)
		t.widths[i] = max(t.widths[i], n)
		b.WriteString(text + strings.Repeat(" ", t.widths[i]-n+2))
		used += t.widths[i] + 2
	}
	return strings.TrimRight(b.String(), " ")
}

// shortened cuts a text to a number of characters.
func shortened(text string, most int) string {
	all := []rune(text)
	if len(all) <= most {
		return text
	}
	return string(all[:most-1]) + "…"
}
