package metrics

import "github.com/google/cadvisor/lib/model"

func pressureFigures() (figures []figure) {
	for _, f := range []struct {
		what, kindOf, help string
		psi                func(*model.ContainerStats) *model.PSIStats
		full               bool
	}{
		{"cpu", "stalled", "no tasks in the container could make progress due to CPU", cpuPressure, true},
		{"cpu", "waiting", "tasks in the container have waited due to CPU", cpuPressure, false},
		{"memory", "stalled", "no tasks in the container could make progress due to memory", memoryPressure, true},
		{"memory", "waiting", "tasks in the container have waited due to memory", memoryPressure, false},
		{"io", "stalled", "no tasks in the container could make progress due to IO", diskPressure, true},
		{"io", "waiting", "tasks in the container have waited due to IO", diskPressure, false},
	} {
		figures = append(figures, figure{
			name: "container_pressure_" + f.what + "_" + f.kindOf + "_seconds_total", help: "Total time duration " + f.help +
				" congestion.", kind: counter,
			read: func(c *model.ContainerInfo, s *model.ContainerStats, e emit) {
				// Without a spec, zero means not counted.
				if p := f.psi(s); p != nil && (c.Spec.HasMemory || *p != model.PSIStats{}) {
					of := p.Some
					if f.full {
						of = p.Full
					}
					e(float64(of.Total) / 1e6)
				}
			},
		})
	}
	return figures
}

func cpuPressure(s *model.ContainerStats) *model.PSIStats {
	if s.Cpu == nil {
		return nil
	}
	return &s.Cpu.PSI
}

func memoryPressure(s *model.ContainerStats) *model.PSIStats {
	if s.Memory == nil {
		return nil
	}
	return &s.Memory.PSI
}

func diskPressure(s *model.ContainerStats) *model.PSIStats {
	if s.DiskIo == nil {
		return nil
	}
	return &s.DiskIo.PSI
}
