package stats

import (
	"runtime"
	"strings"

	"github.com/google/cadvisor/lib/model"
)

// Machine is what the node is made of, in cAdvisor's words.
func (c *Collector) Machine() (*model.MachineInfo, error) {
	m := &model.MachineInfo{NumCores: runtime.NumCPU()}
	text, err := c.read("cpuinfo")
	if err != nil {
		return nil, err
	}
	m.NumPhysicalCores, m.NumSockets = cores(text)
	has, err := c.meminfo()
	if err != nil {
		return nil, err
	}
	m.MemoryCapacity, m.SwapCapacity = has["MemTotal"], has["SwapTotal"]
	return m, nil
}

// cores counts what /proc/cpuinfo tells apart. A machine that does not say which of its
// processors lie together has one socket of as many cores.
func cores(text string) (physical, sockets int) {
	inSocket, inCore := map[string]bool{}, map[[2]string]bool{}
	socket, processors := "", 0
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
		return processors, 1
	}
	return len(inCore), max(len(inSocket), 1)
}
