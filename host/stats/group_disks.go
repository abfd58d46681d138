package stats

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/cadvisor/lib/model"
)

// throttled reads the disk counters of version 1: lines such as "8:0 Read 512".
func (r *reader) throttled(text []byte) []model.PerDiskStats {
	var found []model.PerDiskStats
	last := ""
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) != 3 {
			continue
		}
		count, err := strconv.ParseUint(fields[2], 10, 64)
		if err != nil {
			continue
		}
		if fields[0] != last {
			last = fields[0]
			found = append(found, r.disk(last))
		}
		found[len(found)-1].Stats[fields[1]] = count
	}
	return found
}

// disks reads the disk counters of version 2: lines such as "8:0 rbytes=512 wbytes=0 rios=1".
func (r *reader) disks(text []byte) (sizes, counts []model.PerDiskStats) {
	for line := range bytes.Lines(text) {
		fields := strings.Fields(string(line))
		if len(fields) < 2 {
			continue
		}
		size, count := r.disk(fields[0]), r.disk(fields[0])
		for _, field := range fields[1:] {
			name, value, _ := strings.Cut(field, "=")
			n, err := strconv.ParseUint(value, 10, 64)
			if err != nil {
				continue
			}
			switch name {
			case "rbytes":
				size.Stats["Read"] = n
			case "wbytes":
				size.Stats["Write"] = n
			case "dbytes":
				size.Stats["Discard"] = n
			case "rios":
				count.Stats["Read"] = n
			case "wios":
				count.Stats["Write"] = n
			case "dios":
				count.Stats["Discard"] = n
			}
		}
		sizes, counts = append(sizes, size), append(counts, count)
	}
	return sizes, counts
}

// disk returns the disk with a number, without counts.
func (r *reader) disk(number string) model.PerDiskStats {
	d := model.PerDiskStats{Stats: map[string]uint64{}}
	major, minor, _ := strings.Cut(number, ":")
	d.Major, _ = strconv.ParseUint(major, 10, 64)
	d.Minor, _ = strconv.ParseUint(minor, 10, 64)
	if r.devices[number] == "" {
		r.devices[number] = deviceName(number)
	}
	d.Device = r.devices[number]
	return d
}

// deviceName returns the name of the device with a number, or the number itself if the kernel has no name for it.
func deviceName(number string) string {
	link, err := os.Readlink("/sys/dev/block/" + number)
	if err != nil {
		return number
	}
	return "/dev/" + filepath.Base(link)
}
