package podnet

import (
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// Busy reports whether a program of the machine has a port. It is asked by opening the port for a moment.
func Busy(protocol corev1.Protocol, port int32) bool {
	at := ":" + strconv.Itoa(int(port))
	switch protocol {
	case corev1.ProtocolTCP:
		l, err := net.Listen("tcp", at)
		if err == nil {
			_ = l.Close() // it was never used
		}
		return err != nil
	case corev1.ProtocolUDP:
		l, err := net.ListenPacket("udp", at)
		if err == nil {
			_ = l.Close() // as above
		}
		return err != nil
	}
	return false
}
