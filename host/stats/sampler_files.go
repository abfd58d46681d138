package stats

import (
	"bytes"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"nodal/node/history"
)

// The files of a cgroup that a sampler reads.
const (
	ofCPU = iota
	ofMemory
	ofMemoryParts
	ofTasks
	cgroupFileCount
)

// sampledFiles names them, with their controllers, in versions 1 and 2.
var sampledFiles = [2][cgroupFileCount][2]string{
	{{"cpuacct", "cpuacct.usage"}, {"memory", "memory.usage_in_bytes"}, {"memory", "memory.stat"}, {"pids", "pids.current"}},
	{{"cpu", "cpu.stat"}, {"memory", "memory.current"}, {"memory", "memory.stat"}, {"pids", "pids.current"}},
}

var (
	usageUsec    = []byte("usage_usec")
	inactiveFile = [2][]byte{[]byte("total_inactive_file"), []byte("inactive_file")}
)

// cgroupFiles are files that stay open, by their descriptors; below zero means closed. A file that stays open costs no
// allocation when it is read, and a fifth of the time.
type cgroupFiles [cgroupFileCount]int

var closedFiles = cgroupFiles{-1, -1, -1, -1}

// text reads a file. It returns false if the file is not there, and the text is valid until room is used again.
func (f *cgroupFiles) text(room []byte, in *Cgroups, path string, which int) ([]byte, bool) {
	if f[which] < 0 {
		file := sampledFiles[in.Version-1][which]
		dir := in.Dirs[file[0]]
		if dir == "" {
			return nil, false
		}
		f[which] = openForReading(dir + path + "/" + file[1])
	}
	return readFrom(f[which], room)
}

func (f *cgroupFiles) close() {
	for i, fd := range f {
		if fd >= 0 {
			_ = unix.Close(fd) // it was only read
		}
		f[i] = -1
	}
}

// openForReading returns a descriptor, or one below zero.
func openForReading(path string) int {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1
	}
	return fd
}

// readFrom reads the beginning of a file, as far as there is room.
func readFrom(fd int, room []byte) ([]byte, bool) {
	for fd >= 0 {
		n, err := unix.Pread(fd, room, 0)
		if err == nil {
			return room[:n], n > 0
		}
		if err != unix.EINTR {
			break
		}
	}
	return nil, false
}

// leading parses the digits that a text begins with, behind spaces.
func leading(text []byte) (n uint64) {
	for len(text) > 0 && (text[0] == ' ' || text[0] == '\t') {
		text = text[1:]
	}
	for _, c := range text {
		if c < '0' || c > '9' || n > math.MaxUint64/10-1 {
			break
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// valueOf returns the number behind a name that begins a line, or zero.
func valueOf(text, name []byte) uint64 {
	for at := 0; at < len(text); {
		found := bytes.Index(text[at:], name)
		if found < 0 {
			return 0
		}
		begin, end := at+found, at+found+len(name)
		if (begin == 0 || text[begin-1] == '\n') && end < len(text) && (text[end] == ' ' || text[end] == ':') {
			return leading(text[end+1:])
		}
		at = end
	}
	return 0
}

// watchedNode reads the figures of the machine.
type watchedNode struct {
	series history.Series
	files  nodeFiles
	spent  meter
}

const (
	ofProcessors = iota
	ofMachineMemory
	ofLoad
	nodeFileCount
)

// nodeFiles are files that stay open, by their descriptors plus one; zero means closed.
type nodeFiles [nodeFileCount]int

var nodeFileNames = [nodeFileCount]string{"stat", "meminfo", "loadavg"}

func (f *nodeFiles) text(room []byte, proc string, which int) ([]byte, bool) {
	if f[which] == 0 {
		f[which] = openForReading(proc+"/"+nodeFileNames[which]) + 1
	}
	return readFrom(f[which]-1, room)
}

func (f *nodeFiles) close() {
	for i, fd := range f {
		if fd > 0 {
			_ = unix.Close(fd - 1) // it was only read
		}
		f[i] = 0
	}
}

var memTotal, memFree, inactiveFiles = []byte("MemTotal"), []byte("MemFree"), []byte("Inactive(file)")

// read returns the node's figures in the sense of Collector's: the working set is the used memory without the file pages
// that were not touched for a while.
func (w *watchedNode) read(s *Sampler, now time.Time) (f history.Figures, ok bool) {
	text, ok := w.files.text(s.room, s.config.Proc, ofProcessors)
	if !ok {
		return f, false
	}
	f.CPU = w.spent.rate(busy(text), now)
	text, _ = w.files.text(s.room, s.config.Proc, ofMachineMemory)
	total := valueOf(text, memTotal)
	used := total - min(total, valueOf(text, memFree)+valueOf(text, inactiveFiles))
	f.Pages = history.Pages(used << 10)
	w.series.MemoryLimit = total << 10
	text, _ = w.files.text(s.room, s.config.Proc, ofLoad)
	if i := bytes.IndexByte(text, '/'); i >= 0 {
		f.Tasks = leading(text[i+1:])
	}
	return f, true
}

// busy returns the time that all processors together were not idle, from the first line of /proc/stat.
func busy(text []byte) uint64 {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	_, line, _ = bytes.Cut(line, []byte(" "))
	sum := uint64(0)
	for i := 0; i < 8 && len(line) > 0; i++ {
		line = bytes.TrimLeft(line, " ")
		if i != 3 && i != 4 && i != 7 { // idle, waiting for disks, taken by the hypervisor
			sum += leading(line)
		}
		end := bytes.IndexByte(line, ' ')
		if end < 0 {
			break
		}
		line = line[end:]
	}
	return sum * uint64(tick)
}
