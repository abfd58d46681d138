package script

import (
	"fmt"
	"strings"
)

const divider = "----"

// Play runs the commands of a file on a new stage, and returns the file with the output of this
// run.
func Play(text string) (string, error) {
	s, err := newStage()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for i, block := range blocks(text) {
		if i > 0 {
			out.WriteString("\n")
		}
		for _, line := range block {
			out.WriteString(line + "\n")
		}
		commands := withoutComments(block)
		if len(commands) == 0 {
			continue
		}
		out.WriteString(divider + "\n")
		for _, command := range commands {
			lines, err := s.command(command)
			if err != nil {
				return "", fmt.Errorf("%s: %w", command, err)
			}
			for _, line := range lines {
				out.WriteString(line + "\n")
			}
		}
	}
	return out.String(), nil
}

// blocks returns the lines before each divider. It drops the output after it.
func blocks(text string) [][]string {
	var all [][]string
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		var block []string
		for line := range strings.Lines(paragraph) {
			line = strings.TrimSpace(line)
			if line == divider {
				break
			}
			if line != "" {
				block = append(block, line)
			}
		}
		if len(block) > 0 {
			all = append(all, block)
		}
	}
	return all
}

func withoutComments(block []string) []string {
	var commands []string
	for _, line := range block {
		if !strings.HasPrefix(line, "#") {
			commands = append(commands, line)
		}
	}
	return commands
}
