package stats

import (
	"cmp"
	"runtime"
	"strings"

	"github.com/google/cadvisor/lib/model"
)

// Machine describes the node's hardware in cAdvisor's terms.
func (c *Collector) Machine() (*model.MachineInfo, error) {
	m := &model.MachineInfo{}
	text, err := c.read("cpuinfo")
	if err != nil {
		return nil, err
	}
	processors, physical, sockets := cores(text)
	m.NumCores, m.NumPhysicalCores, m.NumSockets = cmp.Or(processors, runtime.NumCPU()), physical, sockets
	has, err := c.meminfo()
	if err != nil {
		return nil, err
	}
	m.MemoryCapacity, m.SwapCapacity = has["MemTotal"], has["SwapTotal"]
	return m, nil
}

// cores counts the processors in /proc/cpuinfo, which are those online, and their cores and sockets. A machine that
// does not report its topology counts as one socket with as many cores as processors.
func cores(text string) (processors, physical, sockets int) {
	inSocket, inCore := map[string]bool{}, map[[2]string]bool{}
	socket := ""
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(name) {
		case "processor":
			processors++
		case "physical id":
			socket = value
			inSocket[socket] = true
		case "core id":
			inCore[[2]string{socket, value}] = true
		}
	}
	if len(inCore) == 0 {
		return processors, processors, 1
	}
	return processors, len(inCore), max(len(inSocket), 1)
}
