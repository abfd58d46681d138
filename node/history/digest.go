package history

// Digest makes one sample of all that fall into a window: the average of the CPU, and the most that there was of memory and
// tasks. A short peak of memory is what a long history is asked for.
type Digest struct {
	step   int64
	window int64
	at     int64 // of the last sample
	sums   []sum
	done   Sample
}

// sum holds the figures of one series in the present window.
type sum struct {
	*Series
	cpu, measured int64
	pages, tasks  uint64
}

// NewDigest returns a digest with windows of so many seconds.
func NewDigest(step int64) *Digest { return &Digest{step: step} }

// Window returns the beginning of the window that a moment falls into.
func (d *Digest) Window(at int64) int64 { return at - at%d.step }

// Add takes a sample. It returns the sample of a window that has ended with it, valid until the next call, or else nil.
func (d *Digest) Add(s *Sample) *Sample {
	var ended *Sample
	if window := d.Window(s.At); window != d.window {
		ended = d.end()
		d.window = window
	}
	d.at = s.At
	for i := range s.Of {
		d.sum(i, s.Of[i].Series).add(s.Of[i].Figures)
	}
	return ended
}

// sum returns the sum of a series, which is mostly where it is in the sample.
func (d *Digest) sum(place int, of *Series) *sum {
	if place < len(d.sums) && same(d.sums[place].Series, of) {
		return &d.sums[place]
	}
	for i := range d.sums {
		if same(d.sums[i].Series, of) {
			return &d.sums[i]
		}
	}
	d.sums = append(d.sums, sum{Series: of})
	return &d.sums[len(d.sums)-1]
}

func (s *sum) add(f Figures) {
	if f.CPU >= 0 {
		s.cpu, s.measured = s.cpu+f.CPU, s.measured+1
	}
	s.pages, s.tasks = max(s.pages, f.Pages), max(s.tasks, f.Tasks)
}

func (s *sum) figures() Figures {
	f := Figures{CPU: UnknownCPU, Pages: s.pages, Tasks: s.tasks}
	if s.measured > 0 {
		f.CPU = s.cpu / s.measured
	}
	return f
}

// end returns the sample of the window, or nil if there was none.
func (d *Digest) end() *Sample {
	if len(d.sums) == 0 {
		return nil
	}
	d.done.At, d.done.Of = d.at, d.done.Of[:0]
	for i := range d.sums {
		d.done.Of = append(d.done.Of, Entry{d.sums[i].Series, d.sums[i].figures()})
	}
	d.sums = d.sums[:0]
	return &d.done
}
