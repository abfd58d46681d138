package spec

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// Each case stands for what upstream's parser of such files makes of it.
func TestFilesOfVariables(t *testing.T) {
	long := strings.Repeat("x", 65_000)
	for _, c := range []struct{ name, text, want, wrong string }{
		{"a value in quotes", "K='v'", "v", ""},
		{"nothing", "", "", ""},
		{"another key", "A='v'\n", "", ""},
		{"the first of two", "K='v'\nK='w'\n", "v", ""},
		{"what follows the key is not read", "K='v'\nnonsense", "v", ""},
		{"what comes before it is", "nonsense\nK='v'", "", "line 1: there is no '='"},
		{"blank lines and comments", "\n \t\n# A\n  # B='x'\n  K='v'", "v", ""},
		{"a comment behind the value", "K='v' # K='w'", "v", ""},
		{"a comment without a space", "K='v'#w", "v", ""},
		{"all is literal", `K='a "b" \n $X # c'`, `a "b" \n $X # c`, ""},
		{"an equals sign in the value", "K='a=b'", "a=b", ""},
		{"several lines", "K='a\n # b\n\nc'\n", "a\n # b\n\nc", ""},
		{"several lines of another key", "A='\nK='\nK='v'", "v", ""},
		{"line ends of another system", "K='a\r\nb'\r\n", "a\nb", ""},
		{"an empty value", "K=''", "", ""},
		{"a space behind the sign empties it", "K= 'v'\nK='w'", "", ""},
		{"also before a comment", "A= # no\nK='v'", "v", ""},
		{"a space before the sign", "K ='v'", "", "line 1: there must be no space before '='"},
		{"no name", "='v'", "", "line 1: there is no name before '='"},
		{"a name of spaces", " \t='v'", "", "line 1: there is no name before '='"},
		{"no quotes", "A='x'\nK=v", "", "line 2: the value must stand in single quotes"},
		{"double quotes", `K="v"`, "", "line 1: the value must stand in single quotes"},
		{"no value at all", "K=", "", "line 1: the value must stand in single quotes"},
		{"two values", "K='v''w'", "", "line 1: only a comment may follow the value"},
		{"no closing quote", "A='x'\nK='v\nw\n", "", "line 2: the value has no closing quote"},
		{"an exported one", "export K='v'", "", ""},
		{"a long line", "K='" + long + "'", long, ""},
		{"one that is too long", "A='x'\nK='" + long + "12345678901234567890'" + long, "", "line 2: bufio.Scanner: token too long"},
		{"one too long within a value", "K='\n" + long + long, "", "line 2: bufio.Scanner: token too long"},
	} {
		got, err := parseEnvFile(strings.NewReader(c.text), "K")
		wrong := ""
		if err != nil {
			wrong = err.Error()
		}
		if got != c.want || wrong != c.wrong {
			t.Errorf("%s: got %.60q, %q; want %.60q, %q", c.name, got, wrong, c.want, c.wrong)
		}
	}
}

func TestEnvironmentFromAFile(t *testing.T) {
	files := func(pod *corev1.Pod, volume, path string) (io.ReadCloser, error) {
		switch {
		case pod.Name == "" || volume != "shared":
			return nil, errors.New("no such volume")
		case path == "env":
			return io.NopCloser(strings.NewReader("A='1'\nEMPTY=''\n")), nil
		case path == "bad":
			return io.NopCloser(strings.NewReader("A")), nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	for _, c := range []struct {
		name, volume, path, key string
		optional                bool
		want, wrong             string
	}{
		{"a key", "shared", "env", "A", false, "V=1 W=1", ""},
		{"a key that is missing", "shared", "env", "B", false, "", `environment variable key "B" not found in file "env" of volume "shared"`},
		{"an empty one", "shared", "env", "EMPTY", false, "", `environment variable key "EMPTY" not found`},
		{"an optional one that is missing", "shared", "env", "B", true, "W=$(V)", ""},
		{"an optional one of a missing file", "shared", "none", "B", true, "W=$(V)", ""},
		{"a missing file", "shared", "none", "A", false, "", `couldn't parse env file "none" of volume "shared": open none: file does not exist`},
		{"a file of another form", "shared", "bad", "A", true, "", `couldn't parse env file "bad" of volume "shared": line 1: there is no '='`},
		{"another volume", "other", "env", "A", true, "", "no such volume"},
	} {
		here, run := envInput(
			corev1.EnvVar{Name: "V", ValueFrom: &corev1.EnvVarSource{FileKeyRef: &corev1.FileKeySelector{
				VolumeName: c.volume, Path: c.path, Key: c.key, Optional: &c.optional,
			}}},
			corev1.EnvVar{Name: "W", Value: "$(V)"},
		)
		env, err := here.Environment(run, objects, files)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: got %v, want %s", c.name, err, c.wrong)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var got []string
		for _, kv := range env.over(nil) {
			got = append(got, kv.Key+"="+string(kv.Value))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
