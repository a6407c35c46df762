output "master" {
  description = "Address of the master: det -m ADDRESS"
  value       = "http://${aws_instance.master.public_dns}:8080"
}

output "bucket" {
  value = aws_s3_bucket.checkpoints.id
}
