package service

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Environment is the file in which the node's owner gives the agent flags.
const Environment = settingsDir + "/kubelet.env"

// Flags reads the agent's flags from a file like Environment, as systemd does. Of several lines the last one counts,
// and blanks separate words unless they are in quotes. Where systemd has rules of its own, the text is an error.
func Flags(environment string) ([]string, error) {
	text, err := os.ReadFile(environment)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the agent's flags: %w", err)
	}
	var value string
	joined := strings.ReplaceAll(string(text), "\\\n", "")
	for line := range strings.Lines(joined) {
		if name, flags, ok := strings.Cut(line, "="); ok && strings.TrimSpace(name) == "KUBELET_FLAGS" {
			value = strings.TrimSpace(flags)
		}
	}
	if value, err = unquoted(value); err != nil {
		return nil, fmt.Errorf("read KUBELET_FLAGS in %s: %w", environment, err)
	}
	return words(value), nil
}

// unquoted removes the quotes around a whole text. Other quotes at its start are an error: after those systemd drops
// blanks, or reads on in the next line.
func unquoted(s string) (string, error) {
	if strings.Contains(s, `\`) {
		return "", errors.New("a backslash may only be at the end of a line")
	}
	if s == "" || s[0] != '"' && s[0] != '\'' {
		return s, nil
	}
	inner, rest, closed := strings.Cut(s[1:], s[:1])
	if !closed || rest != "" {
		return "", errors.New("quotes at its start have to be around all of it, in one line")
	}
	return inner, nil
}

// words splits at blanks outside of quotes, and drops the quotes.
func words(s string) []string {
	var quote rune
	parts := strings.FieldsFunc(s, func(r rune) bool {
		switch {
		case quote == 0 && (r == '"' || r == '\''):
			quote = r
		case r == quote:
			quote = 0
		}
		return quote == 0 && (r == ' ' || r == '\t')
	})
	for i, p := range parts {
		parts[i] = strings.NewReplacer(`"`, "", `'`, "").Replace(p)
	}
	return parts
}
