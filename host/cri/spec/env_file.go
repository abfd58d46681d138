package spec

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// Files opens a file in a volume of a pod, by the volume's name and the path in it.
type Files func(pod *corev1.Pod, volume, path string) (io.ReadCloser, error)

// inFile looks one value of a file up. As in Kubernetes, an empty value counts as missing. Where the key is optional,
// it or the whole file may be missing.
func (r Run) inFile(ref *corev1.FileKeySelector, files Files) (string, bool, error) {
	if files == nil {
		return "", false, fmt.Errorf("file %q: %w", ref.Path, node.ErrUnsupported)
	}
	file, err := files(r.Allocated, ref.VolumeName, ref.Path)
	if errors.Is(err, fs.ErrNotExist) && ref.Optional != nil && *ref.Optional {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("couldn't parse env file %q of volume %q: %w", ref.Path, ref.VolumeName, err)
	}
	defer file.Close()
	value, err := parseEnvFile(file, ref.Key)
	if err != nil {
		return "", false, fmt.Errorf("couldn't parse env file %q of volume %q: %w", ref.Path, ref.VolumeName, err)
	}
	if value == "" {
		return "", false, absent(ref.Optional, "environment variable key %q not found in file %q of volume %q",
			ref.Key, ref.Path, ref.VolumeName)
	}
	return value, true, nil
}

// parseEnvFile returns the first value of a key in a file of variables, or "". Such a file is a narrow part of what a
// shell reads: NAME='value' on lines of its own, without spaces before the sign. All between the quotes is literal,
// line breaks too. Blank lines and comments are skipped, and a space after the sign makes the value empty. What follows the
// key is not read, and need not be well formed.
func parseEnvFile(file io.Reader, key string) (string, error) {
	lines := envLines{Scanner: bufio.NewScanner(file)}
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), blanks)
		if line == "" || line[0] == '#' {
			continue
		}
		name, rest, found := strings.Cut(line, "=")
		switch {
		case !found:
			return "", lines.wrong("there is no '='")
		case strings.Trim(name, blanks) == "":
			return "", lines.wrong("there is no name before '='")
		case strings.TrimRight(name, blanks) != name:
			return "", lines.wrong("there must be no space before '='")
		}
		value, err := "", error(nil)
		if strings.TrimLeft(rest, blanks) == rest {
			value, err = lines.quoted(rest)
		}
		if err != nil || name == key {
			return value, err
		}
	}
	if err := lines.Err(); err != nil {
		return "", fmt.Errorf("line %d: %w", lines.number, err)
	}
	return "", nil
}

// blanks are the spaces within a line.
const blanks = " \t"

// envLines are the lines of a file of variables. None may have more than 64 KiB.
type envLines struct {
	*bufio.Scanner
	number int
}

func (l *envLines) Scan() bool {
	l.number++
	return l.Scanner.Scan()
}

func (l *envLines) wrong(what string) error { return fmt.Errorf("line %d: %s", l.number, what) }

// quoted returns the value in single quotes that a line begins with, and that a later line may end.
func (l *envLines) quoted(line string) (string, error) {
	rest, begins := strings.CutPrefix(line, "'")
	if !begins {
		return "", l.wrong("the value must stand in single quotes")
	}
	began, value := l.number, strings.Builder{}
	for {
		part, after, ends := strings.Cut(rest, "'")
		value.WriteString(part)
		if ends {
			if after = strings.TrimLeft(after, blanks); after != "" && after[0] != '#' {
				return "", l.wrong("only a comment may follow the value")
			}
			return value.String(), nil
		}
		value.WriteByte('\n')
		if !l.Scan() {
			if err := l.Err(); err != nil {
				return "", fmt.Errorf("line %d: %w", l.number, err)
			}
			return "", fmt.Errorf("line %d: the value has no closing quote", began)
		}
		rest = l.Text()
	}
}
