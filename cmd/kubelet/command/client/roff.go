package client

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// roff is a manual page in the language of man.
type roff struct{ strings.Builder }

// newRoff begins a page with its title and the line by which man -k finds it.
func newRoff(title, name string) *roff {
	r := &roff{}
	r.WriteString(ManMark)
	r.lines(`.TH `+escaped(title)+` 1 "" "Nodal" "Nodal"`, ".nh", ".ad l", ".SH NAME", name)
	return r
}

// lines adds what is roff already.
func (r *roff) lines(lines ...string) {
	for _, line := range lines {
		r.WriteString(line + "\n")
	}
}

func (r *roff) section(title string) { r.lines(`.SH "` + title + `"`) }

// text adds words. Lines are filled.
func (r *roff) text(text string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			r.lines(escaped(line))
		}
	}
}

func (r *roff) paragraph(text string) {
	if strings.TrimSpace(text) != "" {
		r.lines(".PP")
		r.text(text)
	}
}

// verbatim adds lines as they are.
func (r *roff) verbatim(text string) {
	r.lines(".PP", ".nf")
	for line := range strings.Lines(strings.Trim(text, "\n") + "\n") {
		r.lines(escaped(strings.TrimRight(line, "\n")))
	}
	r.lines(".fi")
}

// flags adds a section of flags.
func (r *roff) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	r.section(title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, usage := pflag.UnquoteUsage(f)
		short := ""
		if f.Shorthand != "" {
			short = `\fB\-` + escaped(f.Shorthand) + `\fR, `
		}
		r.lines(".TP", strings.TrimSpace(short+`\fB\-\-`+escaped(f.Name)+`\fR \fI`+escaped(value)+`\fR`))
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" && f.DefValue != "0s" && f.DefValue != "-1" {
			usage += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		r.text(usage)
	})
}

func (r *roff) exitStatus() {
	r.section("EXIT STATUS")
	r.text("0: it is done. 1: it has failed. 2: the command line is wrong. The pages of plan, diff and exec name others.")
}

// escaper keeps backslashes, and dashes that a shell should get as they are.
var escaper = strings.NewReplacer(`\`, `\e`, "-", `\-`)

// escaped returns a line that roff takes as words: no command begins with it.
func escaped(line string) string {
	line = escaper.Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}
