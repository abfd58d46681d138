package differences

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Row is one line of a table: what differs, and the other cells.
type Row struct {
	Names []string // the parts of the first cell
	Cells []string // all cells
}

// Read returns the rows of the table below a heading of docs/DIFFERENCES.md, which lies below root.
func Read(root, heading string) ([]Row, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "DIFFERENCES.md"))
	if err != nil {
		return nil, err
	}
	_, section, ok := strings.Cut(string(text), "# "+heading+"\n")
	if !ok {
		return nil, fmt.Errorf("docs/DIFFERENCES.md has no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n#")
	var rows []Row
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") {
			continue
		}
		row := Row{Cells: strings.Split(strings.Trim(line, "|"), "|")}
		for i, cell := range row.Cells {
			row.Cells[i] = strings.TrimSpace(cell)
		}
		row.Names = strings.Split(row.Cells[0], ", ")
		rows = append(rows, row)
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("docs/DIFFERENCES.md has no table below %q", heading)
	}
	return rows[1:], nil
}
