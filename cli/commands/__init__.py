"""The commands of the terminal, a file each: `agrad eval`, `agrad run`, …"""
