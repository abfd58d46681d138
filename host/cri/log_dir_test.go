package cri

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/node"
)

func TestAPodLogsToDirectoriesOfItsOwn(t *testing.T) {
	pod := &node.Pod{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1"}}}
	const own, other = "default_web_uid-1", "default_other_uid-2"
	for _, c := range []struct{ name, link, to, refused string }{
		{"where nothing is", "", "", ""},
		{"where another pod's directory stands for its own", own, other, "symbolic link"},
		{"where another container's directory stands for its own", own + "/main", "../" + other + "/main", "symbolic link"},
		{"where a link leads away", own + "/main", "/", "escapes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			logs := t.TempDir()
			if err := os.MkdirAll(filepath.Join(logs, other, "main"), 0o755); err != nil {
				t.Fatal(err)
			}
			if c.link != "" {
				link := filepath.Join(logs, c.link)
				if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(c.to, link); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // a container that is created again has its directory
				err := makeLogDir(logs, pod, "main")
				if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("got %v, want %q", err, c.refused)
				}
			}
		})
	}
}
