package stats

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/google/cadvisor/lib/model"
)

// throttled reads what version 1 counts of disks: lines such as "8:0 Read 512".
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

// disks reads what version 2 counts: lines such as "8:0 rbytes=512 wbytes=0 rios=1".
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

// disk is one without counts, by its number.
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

// deviceName is the number itself where the kernel does not name the device.
func deviceName(number string) string {
	link, err := os.Readlink("/sys/dev/block/" + number)
	if err != nil {
		return number
	}
	return "/dev/" + filepath.Base(link)
}
