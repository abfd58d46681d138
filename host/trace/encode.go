package trace

import (
	"log/slog"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of fields are those of opentelemetry.proto.trace.v1 and of the
// packages beside it; they never change.

// encode is an ExportTraceServiceRequest.
func encode(c Config, spans []*Span) []byte {
	scope := text(text(nil, 1, "nodal"), 2, c.Version)
	all := bytes(nil, 1, scope)
	for _, s := range spans {
		all = bytes(all, 2, encodeSpan(s))
	}
	var resource []byte
	for _, a := range []slog.Attr{
		slog.String("service.name", "kubelet"), slog.String("service.version", c.Version), slog.String("k8s.node.name", c.Node),
	} {
		resource = bytes(resource, 1, encodeAttribute(a))
	}
	return bytes(nil, 1, bytes(bytes(nil, 1, resource), 2, all))
}

const sampledFlag = 1

func encodeSpan(s *Span) []byte {
	b := bytes(nil, 1, s.at.Trace[:])
	b = bytes(b, 2, s.at.Span[:])
	if s.parent != [8]byte{} {
		b = bytes(b, 4, s.parent[:])
	}
	b = text(b, 5, s.name)
	b = number(b, 6, int64(s.kind))
	b = fixed(b, 7, s.begin.UnixNano())
	b = fixed(b, 8, s.end.UnixNano())
	for _, a := range s.attributes {
		b = bytes(b, 9, encodeAttribute(a))
	}
	for _, link := range s.links {
		b = bytes(b, 13, bytes(bytes(nil, 1, link.Trace[:]), 2, link.Span[:]))
	}
	if s.failure != "" {
		const failed = 2
		b = bytes(b, 15, number(text(nil, 2, s.failure), 3, failed))
	}
	return protowire.AppendFixed32(protowire.AppendTag(b, 16, protowire.Fixed32Type), sampledFlag)
}

func encodeAttribute(a slog.Attr) []byte {
	var value []byte
	if a.Value.Kind() == slog.KindInt64 {
		value = number(nil, 3, a.Value.Int64())
	} else {
		value = text(nil, 1, a.Value.String())
	}
	return bytes(text(nil, 1, a.Key), 2, value)
}

func bytes(b []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func text(b []byte, field protowire.Number, value string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), value)
}

func number(b []byte, field protowire.Number, value int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(value))
}

func fixed(b []byte, field protowire.Number, value int64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), uint64(value))
}
