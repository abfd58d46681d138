package client

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"
)

// printable returns a text that cannot steer a terminal: it writes control characters, but line ends and tabs, as Go
// does in quotes.
func printable(text string) string {
	if !strings.ContainsFunc(text, steers) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if steers(r) {
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func steers(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsGraphic(r) }

// cell returns a text as one line.
func cell(text string) string { return printable(strings.Join(strings.Fields(text), " ")) }

// terminal returns the descriptor of a stream that is a terminal.
func terminal(stream any) (descriptor int, ok bool) {
	f, isFile := stream.(*os.File)
	if !isFile {
		return 0, false
	}
	return int(f.Fd()), term.IsTerminal(int(f.Fd()))
}
