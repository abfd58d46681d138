package oom

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nodal/node"
)

const (
	pod       = "/kubepods/burstable/poda1"
	container = pod + "/0c1d"
)

// told returns the kills in some messages of the kernel, one a line. Processes that are looked up are in /found/PID.
func told(messages string) (kills []node.Kill) {
	about := report{where: func(pid int) string { return fmt.Sprintf("/found/%d", pid) }}
	for text := range strings.Lines(messages) {
		text, continues := strings.CutPrefix(strings.TrimSpace(text), "(c)")
		if kill, ok := about.take(record{kernel: true, continues: continues, text: text}); ok {
			kills = append(kills, kill)
		}
	}
	return kills
}

func TestKillsAreReadFromTheWordsOfTheKernel(t *testing.T) {
	const group = "Tasks in " + container + " are going to be killed due to memory.oom.group set\n"
	const killed = "Memory cgroup out of memory: Killed process 18545 (tail) total-vm:23140kB, anon-rss:20352kB, file-rss:1680kB\n"
	const begin = "tail invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=200\n" +
		"memory: usage 20480kB, limit 20480kB, failcnt 20\n" +
		"memory+swap: usage 20480kB, limit 9007199254740988kB, failcnt 0\n"
	const chosen = "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + pod +
		",task_memcg=" + container + ",task=tail,pid=18545,uid=0\n"
	kill := node.Kill{Process: "tail", PID: 18545, Cgroup: container, Limited: pod, Limit: 20 << 20}
	for _, c := range []struct {
		name, messages string
		want           []node.Kill
	}{
		{"a cgroup at its limit", begin + chosen + killed, []node.Kill{kill}},
		{"other messages in between", begin + "veth0: link up\n" + chosen + "CPU: 1 PID: 18545 Comm: tail\n" + killed, []node.Kill{kill}},
		{"the message on the victim cut into pieces", begin + strings.Replace(chosen, ",oom_memcg", "\nveth0: link up\n(c),oom_memcg", 1) + killed, []node.Kill{kill}},
		{"the machine out of memory",
			"sh invoked oom-killer: gfp_mask=0x0, order=0\noom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=" +
				container + ",task=tail,pid=7,uid=0\nOut of memory: Killed process 7 (tail) total-vm:1kB\n",
			[]node.Kill{{Process: "tail", PID: 7, Cgroup: container, Machine: true}}},
		{"a container that is killed as a whole", begin + chosen + killed + group + killed +
			strings.ReplaceAll(killed, "18545", "18546"), []node.Kill{kill, {Process: "tail", PID: 18546, Cgroup: "/found/18546"}}},
		{"a kill that is not described any more", begin + chosen + killed + strings.ReplaceAll(killed, "18545", "9"),
			[]node.Kill{kill, {Process: "tail", PID: 9, Cgroup: "/found/9"}}},
		{"a limit that is none", strings.Replace(begin, "limit 20480kB", "limit 9007199254740988kB", 1) + chosen + killed,
			[]node.Kill{{Process: "tail", PID: 18545, Cgroup: container, Limited: pod}}},
		{"a kernel before 5.0", begin + "Task in " + container + " killed as a result of limit of " + pod + "\n" +
			"Memory cgroup out of memory: Kill process 18545 (tail) score 1 or sacrifice child\nKilled process 18545 (tail) total-vm:23140kB\n" +
			"Killed process 18547 (tail) total-vm:23140kB\n", []node.Kill{kill, {Process: "tail", PID: 18547, Cgroup: "/found/18547"}}},
		{"a kernel before 4.0", "Out of memory: Kill process 5 (tail) score 1 or sacrifice child\nKilled process 5, UID 33, (tail) total-vm:1kB\n",
			[]node.Kill{{Process: "tail", PID: 5, Cgroup: "/found/5"}}},
		{"a process with a name of its own choice", begin + strings.Replace(chosen, "task=tail", "task=a,pid=1,uid=0", 1) +
			strings.Replace(killed, "(tail)", "(a,pid=1,uid=0)", 1),
			[]node.Kill{{Process: "a,pid=1,uid=0", PID: 18545, Cgroup: container, Limited: pod, Limit: 20 << 20}}},
		{"a process with a bracket in its name", strings.Replace(killed, "tail", "a) total-vm:1", 1),
			[]node.Kill{{Process: "a) total-vm:1", PID: 18545, Cgroup: "/found/18545"}}},
		{"a fault of a process that is called like a kill", "Killed process [1234]: segfault at 0 ip 0 sp 0 error 4\n", nil},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := told(c.messages); !slices.Equal(got, c.want) {
				t.Errorf("got\n%+v, want\n%+v", got, c.want)
			}
		})
	}
}

func TestMembersOfAGroupAreToldOnce(t *testing.T) {
	kills := 0
	about := report{where: func(int) string { return container }}
	for text := range strings.Lines(
		"oom-kill:constraint=CONSTRAINT_MEMCG,oom_memcg=" + container + ",task_memcg=" + container + ",task=sh,pid=1,uid=0\n" +
			"Memory cgroup out of memory: Killed process 1 (sh) total-vm:1kB\n" +
			"Tasks in " + container + " are going to be killed due to memory.oom.group set\n" +
			"Memory cgroup out of memory: Killed process 1 (sh) total-vm:1kB\n" +
			"Memory cgroup out of memory: Killed process 2 (tail) total-vm:1kB\n") {
		if _, ok := about.take(record{kernel: true, text: strings.TrimSpace(text)}); ok {
			kills++
		}
	}
	if kills != 1 {
		t.Errorf("told %d kills, want the victim alone", kills)
	}
}

func TestARecordIsTakenApart(t *testing.T) {
	for _, c := range []struct {
		name, raw string
		want      record
		ok        bool
	}{
		{"the kernel's", "6,113889,25601190417,-;oom-kill:a;b\n SUBSYSTEM=cpu\n", record{113889, true, false, "oom-kill:a;b"}, true},
		{"a program's", "12,7,1,-;Killed process 1 (a) total-vm:1kB\n", record{7, false, false, "Killed process 1 (a) total-vm:1kB"}, true},
		{"a continuation", "6,8,1,c;,pid=1\n", record{8, true, true, ",pid=1"}, true},
		{"a kernel that names the caller", "6,8,1,-,caller=T1;a", record{8, true, false, "a"}, true},
		{"one that is cut off", "6,8,1", record{}, false},
		{"one without a number", "6,x,1,-;a", record{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, ok := parseRecord(c.raw); ok != c.ok || ok && got != c.want {
				t.Errorf("got %+v, %t, want %+v, %t", got, ok, c.want, c.ok)
			}
		})
	}
}

// FuzzMessages reads any messages as the kernel's. A kill always has a process, and names no limit of the whole machine.
func FuzzMessages(f *testing.F) {
	f.Add("6,1,1,-;tail invoked oom-killer: gfp_mask\x006,2,1,-;oom-kill:constraint=A,oom_memcg=/a,task_memcg=/a/b,task=c,pid=1,uid=0\x00" +
		"3,3,1,-;Memory cgroup out of memory: Killed process 1 (c) total-vm:1kB")
	f.Add("6,1,1,-;memory: usage 1kB, limit 9223372036854775807kB\x006,1,1,-;Task in /a killed as a result of limit of /b\x00" +
		"6,1,1,c;Killed process 5, UID 0, (x) total-vm:1kB")
	f.Fuzz(func(t *testing.T, messages string) {
		about := report{where: func(int) string { return "" }}
		for raw := range strings.SplitSeq(messages, "\x00") {
			r, ok := parseRecord(raw)
			if !ok {
				continue
			}
			kill, ok := about.take(r)
			if !ok {
				continue
			}
			if !r.kernel || kill.PID <= 0 || kill.Limit < 0 || kill.Machine && (kill.Limited != "" || kill.Limit != 0) {
				t.Errorf("%q told %+v", raw, kill)
			}
		}
	})
}
