package stats

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"nodal/node/store"
)

// Collections of real cgroups, where the benchmark may make some. Each begins with
// figures that are too old.
func BenchmarkCollections(b *testing.B) {
	const pods = 100
	in := realOnes(b, pods)
	var views []store.View
	for i := range pods {
		views = append(views, podOn(fmt.Sprintf("web-%d", i), strconv.Itoa(i), "container"+strconv.Itoa(i)))
	}
	c := New(Config{
		Runtime: &scripted{}, Cgroups: in, Views: func() ([]store.View, int64) { return views, 0 }, Root: b.TempDir(),
	})
	defer c.tree.forget()
	for _, kind := range []struct {
		name    string
		collect func(context.Context) error
	}{
		{"usage", func(ctx context.Context) error { _, err := c.Usage(ctx); return err }},
		{"summary", func(ctx context.Context) error { _, err := c.Summary(ctx); return err }},
		{"cgroups", func(ctx context.Context) error { _, err := c.Cgroups(ctx); return err }},
	} {
		b.Run(kind.name, func(b *testing.B) {
			b.ReportAllocs()
			var used unix.Rusage
			_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
			before := used.Utime.Nano() + used.Stime.Nano()
			for b.Loop() {
				c.usage.taken, c.whole.taken, c.cgroups.taken = time.Time{}, time.Time{}, time.Time{}
				_ = kind.collect(b.Context()) // it has no images
			}
			_ = unix.Getrusage(unix.RUSAGE_SELF, &used)
			b.ReportMetric(float64(used.Utime.Nano()+used.Stime.Nano()-before)/float64(b.N)/1e6, "cpu-ms/op")
			if found, _ := c.Usage(b.Context()); len(found.Pods) != pods {
				b.Fatalf("got %d pods, want %d", len(found.Pods), pods)
			}
		})
	}
}

// realOnes have a process in each sandbox and container.
func realOnes(b *testing.B, pods int) Cgroups {
	top := fmt.Sprintf("nodal-stats-%d", os.Getpid())
	in := Cgroups{Version: 1, Dirs: map[string]string{}, Pod: func(p *corev1.Pod) string { return "/" + top + "/pod" + string(p.UID) }}
	for _, controller := range []string{"cpu", "cpuacct", "memory", "blkio", "pids"} {
		in.Dirs[controller] = "/sys/fs/cgroup/" + controller
		if _, err := os.Stat(in.Dirs[controller] + "/cgroup.procs"); err != nil || os.Geteuid() != 0 {
			b.Skip("no cgroups of version 1 to make here")
		}
	}
	realOne(b, in, top)
	for i := range pods {
		pod := fmt.Sprintf("%s/pod%d", top, i)
		realOne(b, in, pod)
		for _, of := range []string{"sandbox", "container"} {
			group := fmt.Sprintf("%s/%s%d", pod, of, i)
			realOne(b, in, group)
			pid := strconv.Itoa(sleeper(b)) // which ends before its cgroup
			for _, dir := range in.Dirs {
				if err := os.WriteFile(filepath.Join(dir, group, "cgroup.procs"), []byte(pid), 0); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	return in
}

func realOne(b *testing.B, in Cgroups, group string) {
	for _, dir := range in.Dirs {
		path := filepath.Join(dir, group)
		if err := os.Mkdir(path, 0o755); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := os.Remove(path); err != nil {
				b.Error(err)
			}
		})
	}
}

func sleeper(b *testing.B) (pid int) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return cmd.Process.Pid
}
