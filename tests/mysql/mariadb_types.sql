set names utf8mb4;
set sql_mode='';
create table t_m (id int primary key, u uuid, i4 inet4, i6 inet6, j json, tc text compressed, vc varchar(300) compressed, bc blob compressed, v1 varbinary(20), inv int invisible default 5, g int as (id*2) stored, gv int as (id*3) virtual);
insert into t_m(id,u,i4,i6,j,tc,vc,bc,v1) values (1,'123e4567-e89b-12d3-a456-426655440000','1.2.0.0','2001:db8::','{"a":  1}',repeat('abc',200),repeat('x',250),repeat(x'00ff',200),'v'),(2,'00000000-0000-0000-0000-000000000000','0.0.0.0','::','[]','short','short','',''),(3,null,null,null,null,null,null,null,null),(4,'ffffffff-ffff-4fff-bfff-ffffffffff00','255.255.255.255','::ffff:1.2.3.4','"s"','','','',''),(5,'0189abcd-0123-7abc-8def-0123456789ab','10.0.0.1','fe80::1:0:0:1','1','ü','ü','x','y');
set global mysql56_temporal_format=0;
create table t_oldt (id int primary key, d datetime, d3 datetime(3), d6 datetime(6), ts timestamp null, ts3 timestamp(3) null, ts6 timestamp(6) null, t time, t1 time(1), t3 time(3), t6 time(6));
set global mysql56_temporal_format=1;
set time_zone='+00:00', sql_mode='ALLOW_INVALID_DATES';
insert into t_oldt values (1,'2026-12-01 01:02:03','2026-12-01 01:02:03.123','2026-12-01 01:02:03.123456','2026-12-01 01:02:03','2026-12-01 01:02:03.123','2026-12-01 01:02:03.123456','01:02:03','01:02:03.1','01:02:03.123','01:02:03.123456'),(2,0,0,0,0,0,0,0,0,0,0),(3,null,null,null,null,null,null,null,null,null,null),(4,'9999-12-31 23:59:59','9999-12-31 23:59:59.999','2026-00-00','2038-01-19 03:14:07','1970-01-01 00:00:01.001','1970-01-01 00:00:01.000001','-838:59:59','-838:59:59.9','-00:00:00.001','-00:00:00.000001'),(5,'2026-02-31','2026-12-01','2026-12-01','2026-12-01','2026-12-01','2026-12-01','838:59:59','838:59:59.9','-01:02:03.5','-100:00:00.000001');
