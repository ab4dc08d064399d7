package freemode

// PortAllowed reports whether visitors may connect to a port of a store that they name. Some
// servers can be made to read part of an HTTP request as commands of their own protocol. So the
// refused ports are those that browsers refuse (WHATWG Fetch: Port blocking), mail and shells among
// them, and those of databases, caches and the like.
func PortAllowed(port uint16) bool { return !refusedPorts[port] }

var refusedPorts = ports(
	// ports that browsers refuse
	0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109,
	110, 111, 113, 115, 117, 119, 123,
	135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587,
	601, 636, 989, 990, 993, 995,
	1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
	// shells, mail, printers, names, shares, remote desktops
	24, 138, 162, 220, 445, 543, 544, 631, 873, 2222, 3389, 5900, 5901, 5985, 5986,
	// databases, caches, queues
	1433, 1434, 1521, 2181, 2379, 2380, 3306, 4222, 5432, 5433, 5672, 6379, 6380, 6432, 7000, 7001, 9042, 9092, 9200,
	9300, 11211, 26379, 27017, 27018, 27019,
	// engines and schedulers
	2375, 2376, 2377, 4243, 6443, 8500, 10250, 10255,
)

// ports returns a list of ports as a set.
func ports(list ...uint16) map[uint16]bool {
	set := make(map[uint16]bool, len(list))
	for _, port := range list {
		set[port] = true
	}
	return set
}
