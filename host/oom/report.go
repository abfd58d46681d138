package oom

import (
	"math"
	"strconv"
	"strings"

	"nodal/node"
)

// report joins what the kernel says of one kill. These messages come in this order, among others, and never those of
// two kills mixed:
//
//	tail invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=200
//	memory: usage 20480kB, limit 20480kB, failcnt 20
//	oom-kill:constraint=CONSTRAINT_MEMCG,...,oom_memcg=/a,task_memcg=/a/b,task=tail,pid=18545,uid=0
//	Memory cgroup out of memory: Killed process 18545 (tail) total-vm:23140kB, anon-rss:20352kB, ...
//	Tasks in /a/b are going to be killed due to memory.oom.group set
//	Memory cgroup out of memory: Killed process 18546 (cat) total-vm:...
//
// Kernels before 5.0 write two other ones in place of the third:
//
//	Task in /a/b killed as a result of limit of /a
//	Memory cgroup out of memory: Kill process 18545 (tail) score 1 or sacrifice child
//
// All but "Killed process" are left out if the kernel kills too often.
type report struct {
	where func(pid int) string

	limit   int64
	victim  string // the third message, which others may have cut into pieces
	cgroup  string // of the victim
	limited string // the cgroup at its limit
	pid     int    // of the victim; zero before version 5.0
	told    bool   // the victim was
	group   string // the cgroup of which all processes are killed together
}

// take takes the next message. It returns a kill once the kernel has carried it out. The processes that are killed
// together with a victim are not told beside it.
func (p *report) take(r record) (kill node.Kill, ok bool) {
	if !r.kernel {
		return node.Kill{}, false
	}
	switch text := r.text; {
	case strings.Contains(text, " invoked oom-killer: "):
		*p = report{where: p.where}
	case strings.HasPrefix(text, "memory: usage "):
		p.limit = limitOf(text)
	case strings.HasPrefix(text, "oom-kill:constraint="):
		p.describe(text)
	case r.continues && p.victim != "":
		p.describe(p.victim + text)
	case strings.HasPrefix(text, "Task in "):
		cgroup, limited, ok := strings.Cut(strings.TrimPrefix(text, "Task in "), " killed as a result of limit of ")
		if ok {
			p.cgroup, p.limited = cgroup, limited
		}
	case strings.HasPrefix(text, "Tasks in "):
		p.group, _, _ = strings.Cut(strings.TrimPrefix(text, "Tasks in "), " are going to be killed due to memory.oom.group")
	default:
		return p.killed(text)
	}
	return node.Kill{}, false
}

// describe takes the message about the chosen process, or the beginning of it. The name of a process is the choice of
// its container, so what follows the name is searched from the end, and the name itself is taken from "Killed process".
func (p *report) describe(text string) {
	p.victim = text
	head, tail, ok := strings.Cut(text, ",task_memcg=")
	if !ok {
		return
	}
	_, p.limited, _ = strings.Cut(head, ",oom_memcg=")
	p.cgroup, tail, _ = strings.Cut(tail, ",task=")
	if at := strings.LastIndex(tail, ",pid="); at >= 0 {
		digits, _, _ := strings.Cut(tail[at+len(",pid="):], ",")
		p.pid, _ = strconv.Atoi(digits)
	}
}

// killed takes the message about a process that was killed. One that nothing describes is looked up.
func (p *report) killed(text string) (node.Kill, bool) {
	kill, ok := parseKilled(text)
	switch {
	case !ok, p.told && p.pid == kill.PID:
		return node.Kill{}, false
	case !p.told && p.describes(kill.PID):
		p.told = true
		kill.Cgroup, kill.Limited, kill.Limit = p.cgroup, p.limited, p.limit
		kill.Machine = kill.Machine || p.limited == ""
		if kill.Machine {
			kill.Limited, kill.Limit = "", 0
		}
		return kill, true
	}
	kill.Cgroup = p.where(kill.PID)
	together := p.group != "" && (kill.Cgroup == "" || strings.HasPrefix(kill.Cgroup+"/", p.group+"/"))
	return kill, !together
}

// describes reports whether the messages so far are about a process. Before version 5.0 they do not say its number.
func (p *report) describes(pid int) bool { return p.pid == pid || p.pid == 0 && p.cgroup != "" }

// parseKilled reads "Killed process 18545 (tail) total-vm:23140kB", or with ", UID 0," before the name.
func parseKilled(text string) (node.Kill, bool) {
	before, after, ok := strings.Cut(text, "Killed process ")
	if !ok || before != "" && !strings.HasSuffix(before, ": ") {
		return node.Kill{}, false
	}
	digits, rest, _ := strings.Cut(after, " ")
	pid, err := strconv.Atoi(strings.TrimSuffix(digits, ","))
	_, name, opened := strings.Cut(rest, "(")
	end := strings.LastIndex(name, ") total-vm:")
	if err != nil || pid <= 0 || !opened || end < 0 {
		return node.Kill{}, false
	}
	return node.Kill{PID: pid, Process: name[:end], Machine: strings.HasPrefix(before, "Out of memory")}, true
}

// limitOf reads "memory: usage 20480kB, limit 20480kB, failcnt 20". It returns zero for no limit.
func limitOf(text string) int64 {
	_, rest, _ := strings.Cut(text, ", limit ")
	digits, _, _ := strings.Cut(rest, "kB")
	kib, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || kib < 0 || kib > math.MaxInt64>>11 { // the highest number that the kernel can write means none
		return 0
	}
	return kib << 10
}
