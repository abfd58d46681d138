package config

import (
	"strings"
	"testing"
)

func TestImagesAreChecked(t *testing.T) {
	for name, c := range map[string]struct{ file, flag, want string }{
		"a percentage above 100":    {"imageGCHighThresholdPercent: 101", "", "between 0 and 100"},
		"thresholds the wrong way":  {"imageGCHighThresholdPercent: 70", "", "less than imageGCHighThresholdPercent"},
		"ages the wrong way":        {"imageMaximumGCAge: 1m", "", "greater than imageMinimumGCAge"},
		"a negative rate":           {"registryPullQPS: -1", "", "at least 0"},
		"no room for an import":     {"maxPods: 1", "--image-import-limit=0", "above 0"},
		"no number for an import":   {"maxPods: 1", "--image-import-limit=much", "above 0"},
		"providers without a place": {"maxPods: 1", "--image-credential-provider-config=/x", "given together"},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"--config", write(t, t.TempDir(), "kubelet.yaml", c.file+"\n")}
			if c.flag != "" {
				args = append(args, c.flag)
			}
			if _, err := Load(args); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
	if got := load(t, "--image-import-limit=2Gi").Runtime.ImportLimit; got != 2<<30 {
		t.Errorf("got a limit of %d bytes, want 2 GiB", got)
	}
	if got := load(t).Runtime.ImportLimit; got != 0 {
		t.Errorf("got a limit of %d bytes, want none", got)
	}
	c := load(t, "--image-credential-provider-config=/x", "--image-credential-provider-bin-dir=/y")
	if c.Images.ProviderConfig != "/x" || c.Images.ProviderPrograms != "/y" {
		t.Errorf("got %+v, want the providers", c.Images)
	}
}
