//go:build sanity

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nodal/test/agent"
	"nodal/test/process"
)

// TestTheDriverIsSane has CSI's own suite ask the driver. It needs root, and go's module proxy for the suite.
func TestTheDriverIsSane(t *testing.T) {
	tool, err := exec.Command("go", "tool", "-modfile=../sanity/go.mod", "-n", "csi-sanity").Output()
	if err != nil {
		t.Fatalf("build csi-sanity: %v", err)
	}
	path, err := agent.CSIDriver(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, medium := range []string{"disk", "memory"} {
		t.Run(medium, func(t *testing.T) {
			dir, err := os.MkdirTemp("", "sanity") // a socket's path is short
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.RemoveAll(dir) }) // mounts keep it, and the suite leaves none
			parameters := filepath.Join(dir, "parameters.yaml")
			if err := os.WriteFile(parameters, []byte("medium: "+medium+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
			socket := filepath.Join(dir, "csi.sock")
			d := process.Process{Path: path, Log: filepath.Join(dir, "log"), Args: []string{
				"--registry", dir, "--state", dir, "--socket", socket, "--able", "STAGE_UNSTAGE_VOLUME,GET_VOLUME_STATS,EXPAND_VOLUME",
			}}
			if err := d.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(d.Kill)
			for _, err := os.Stat(socket); err != nil; _, err = os.Stat(socket) {
				time.Sleep(10 * time.Millisecond)
			}
			suite := exec.CommandContext(t.Context(), strings.TrimSpace(string(tool)), "-csi.endpoint", socket, "-csi.mountdir", filepath.Join(dir, "target"),
				"-csi.stagingdir", filepath.Join(dir, "staging"), "-csi.testvolumeparameters", parameters, "-ginkgo.no-color")
			out, err := suite.CombinedOutput()
			t.Logf("%s", out)
			if err != nil || !strings.Contains(string(out), " 44 Passed | 0 Failed | ") {
				t.Errorf("the suite ends with %v", err)
			}
			mounts, err := os.ReadFile("/proc/self/mounts")
			if err != nil || strings.Contains(string(mounts), " "+dir+"/") {
				t.Errorf("mounts are left in %s, %v", dir, err)
			}
		})
	}
}
