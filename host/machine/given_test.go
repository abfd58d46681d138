package machine

import (
	"testing"
	"testing/fstest"
)

func TestTheMemoryThatAProcessIsGiven(t *testing.T) {
	const none = "9223372036854771712\n"
	cases := []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"version 2, no limit", map[string]string{
			"proc/self/cgroup": "0::/system.slice/kubelet.service\n", "sys/fs/cgroup/system.slice/kubelet.service/memory.max": "max\n",
		}, 0},
		{"version 2, where it is slowed down", map[string]string{
			"proc/self/cgroup": "0::/system.slice/kubelet.service\n",
			"sys/fs/cgroup/system.slice/kubelet.service/memory.max":  "max\n",
			"sys/fs/cgroup/system.slice/kubelet.service/memory.high": "2147483648\n",
		}, 2 << 30},
		{"version 2, a limit above", map[string]string{
			"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "1024\n", "sys/fs/cgroup/a/b/memory.max": "4096\n",
		}, 1024},
		{"version 1", map[string]string{
			"proc/self/cgroup":                                 "5:cpu:/x\n4:memory:/a/b\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":       none,
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":     none,
			"sys/fs/cgroup/memory/a/b/memory.limit_in_bytes":   "536870912\n",
			"sys/fs/cgroup/memory/a/b/c/memory.limit_in_bytes": "1\n",
		}, 512 << 20},
		{"version 1, no limit", map[string]string{
			"proc/self/cgroup": "4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": none,
		}, 0},
		{"in a container, whose directories begin at itself", map[string]string{
			"proc/self/cgroup": "4:memory:/docker/123\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "1048576\n",
		}, 1 << 20},
		{"no limits anywhere", map[string]string{"proc/self/cgroup": "0::/\n"}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			root := fstest.MapFS{}
			for name, text := range c.files {
				root[name] = &fstest.MapFile{Data: []byte(text)}
			}
			got, err := GivenMemory(root)
			if err != nil || got != c.want {
				t.Errorf("got %d, %v, want %d", got, err, c.want)
			}
		})
	}
	if _, err := GivenMemory(fstest.MapFS{"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/memory.max": {Data: []byte("much")}}); err == nil {
		t.Error("a limit that is no number: got no error")
	}
}
